// Certificates made on the spot, so that none expires in the repository. A test that includes this
// is linked with OpenSSL.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <fstream>
#include <memory>
#include <string>

namespace godwit::test {

struct CertificateOptions {
  /// subjectAltName as OpenSSL writes it; empty leaves it out.
  std::string names = "DNS:localhost,IP:127.0.0.1";
  std::string common_name = "godwit test";
  bool authority = false;
  bool expired = false;
};

/// A certificate with its key.
class TestCertificate {
 public:
  static TestCertificate self_signed(const CertificateOptions& options = {}) {
    return TestCertificate(options, nullptr);
  }
  static TestCertificate make_authority(const std::string& name = "godwit test authority") {
    return self_signed({.names = "", .common_name = name, .authority = true});
  }
  TestCertificate sign(const CertificateOptions& options = {}) const {
    return TestCertificate(options, this);
  }

  std::string certificate_pem() const {
    return text_of([this](BIO* bio) { PEM_write_bio_X509(bio, certificate_.get()); });
  }
  std::string key_pem(const char* pass_phrase = nullptr) const {
    return text_of([&](BIO* bio) {
      PEM_write_bio_PrivateKey(bio, key_.get(), pass_phrase ? EVP_aes_128_cbc() : nullptr, nullptr,
                               0, nullptr, const_cast<char*>(pass_phrase));
    });
  }

 private:
  TestCertificate(const CertificateOptions& options, const TestCertificate* issuer)
      : key_(EVP_EC_gen("P-256"), EVP_PKEY_free), certificate_(X509_new(), X509_free) {
    X509* const to = certificate_.get();
    static long serial = 1;
    X509_set_version(to, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(to), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(to), -2 * 86400);
    X509_gmtime_adj(X509_getm_notAfter(to), options.expired ? -86400 : 86400);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(to), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(options.common_name.c_str()),
                               -1, -1, 0);
    const TestCertificate& signer = issuer ? *issuer : *this;
    X509_set_issuer_name(to, X509_get_subject_name(signer.certificate_.get()));
    X509_set_pubkey(to, key_.get());
    extend(NID_basic_constraints, options.authority ? "critical,CA:TRUE" : "CA:FALSE");
    if (!options.names.empty()) extend(NID_subject_alt_name, options.names);
    X509_sign(to, signer.key_.get(), EVP_sha256());
  }

  void extend(int kind, const std::string& value) {
    X509_EXTENSION* one = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    X509_add_ext(certificate_.get(), one, -1);
    X509_EXTENSION_free(one);
  }

  template <class Write>
  static std::string text_of(Write write) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
    write(bio.get());
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    return {data, static_cast<std::size_t>(size)};
  }

  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
  std::unique_ptr<X509, decltype(&X509_free)> certificate_;
};

/// Gives the path back.
inline std::string write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  return path;
}

}  // namespace godwit::test
