// What the interop scripts share that knows nothing of MCP: the report, the recorded exchange of
// one connection and small helpers. A check prints "ok NAME" or "not ok NAME: why"; after a failure
// the messages exchanged during that check follow as comments, so that a log tells the story.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

// Long enough for a busy machine, short enough that a hanging check is named by the script itself
// and not by whoever waits for the script.
const CHECK_TIMEOUT = 20_000;

export class Report {
  #failed = 0;
  #ran = 0;
  #wires = [];

  /** Remembers the exchange of a connection, to be shown with a failure. */
  watch(wire) {
    this.#wires.push(wire);
  }

  async check(name, body) {
    this.#ran += 1;
    const marks = this.#wires.map((wire) => wire.length);
    try {
      await within(CHECK_TIMEOUT, body());
      console.log(`ok ${name}`);
    } catch (error) {
      this.#failed += 1;
      console.log(`not ok ${name}: ${sentence(error)}`);
      this.#wires.forEach((wire, index) => {
        for (const { from, message } of wire.slice(marks[index] ?? 0)) {
          console.log(`# ${from === 'client' ? '->' : '<-'} ${JSON.stringify(message)}`);
        }
      });
    }
  }

  /** The exit status: zero if there were checks and none failed. */
  finish() {
    console.log(`# ${this.#ran - this.#failed} passed, ${this.#failed} failed`);
    return this.#ran > 0 && this.#failed === 0 ? 0 : 1;
  }
}

/** Keeps every message that passes a connected transport of either SDK, in order. */
export function record(transport) {
  const wire = [];
  const send = transport.send.bind(transport);
  transport.send = (message, ...rest) => {
    wire.push({ from: 'client', message });
    return send(message, ...rest);
  };
  const receive = transport.onmessage;
  transport.onmessage = (message, ...rest) => {
    wire.push({ from: 'server', message });
    return receive(message, ...rest);
  };
  return wire;
}

export const sent = (wire, method) =>
  wire.filter(({ from, message }) => from === 'client' && message.method === method);
export const received = (wire, method) =>
  wire.filter(({ from, message }) => from === 'server' && message.method === method);
export const results = (wire) =>
  wire.filter(({ from, message }) => from === 'server' && message.result !== undefined);

/** Waits until the condition holds; notifications arrive when they arrive. */
export async function until(what, condition) {
  for (let waited = 0; waited < 5_000; waited += 10) {
    if (condition()) return;
    await sleep(10);
  }
  assert.fail(`waited in vain until ${what}`);
}

/** The error by which a call is refused; fails if it is not, or by another code. */
export async function refused(promise, code) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    assert.equal(error.code, code, `refused by ${error.code} (${error.message}), not by ${code}`);
    return error;
  }
  assert.fail(`expected error ${code}, got ${JSON.stringify(value)}`);
}

/** What assert() said, on one line. */
function sentence(error) {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s+/g, ' ').trim();
}

function within(milliseconds, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${milliseconds} ms`)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export { assert, sleep };
