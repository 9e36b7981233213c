#include "base/openssl.h"

#ifdef SALLYPORT_STATIC

void openssl_load(bool tls) { (void)tls; }

bool openssl_is_loaded(void) { return true; }

#else

#include "base/log.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT(number) #number
#define SONAME(library, version) library ".so." TEXT(version)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;

/* Without OpenSSL nothing works, and a missing library is a broken installation. */
static void *must_have(void *what) {
    if (what)
        return what;
    log_error("OpenSSL cannot be used: %s", dlerror());
    log_flush();
    _exit(EXIT_FAILURE);
}

static void *library(const char *soname) { return must_have(dlopen(soname, RTLD_NOW | RTLD_LOCAL)); }

void *openssl_find(const char *name) {
    static void *crypto, *ssl;
    bool of_ssl = strncmp(name, "SSL_", 4) == 0 || strncmp(name, "TLS_", 4) == 0;
    pthread_mutex_lock(&lock);
    if (!crypto)
        crypto = library(SONAME("libcrypto", OPENSSL_SHLIB_VERSION));
    if (of_ssl && !ssl)
        ssl = library(SONAME("libssl", OPENSSL_SHLIB_VERSION));
    void *found = must_have(dlsym(of_ssl ? ssl : crypto, name));
    __atomic_store_n(&loaded, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return found;
}

void openssl_load(bool tls) { openssl_find(tls ? "TLS_method" : "OpenSSL_version_num"); }

bool openssl_is_loaded(void) { return __atomic_load_n(&loaded, __ATOMIC_ACQUIRE); }

#endif
