/* The packages that pip and npm have chosen and fetched, before they are installed. */
#pragma once

#include "packages/installer.h"
#include "packages/layer.h"

struct pack_install {
    const char *dir;    /* directory of the layers; created if missing */
    const char *python; /* the sandbox's interpreter; NULL or "": python3 of the path */
    bool on_request;
    void (*say)(const char *text); /* what goes on, for people */
    const volatile sig_atomic_t *stop;
};

struct pack_chosen {
    struct pack_layer layer; /* path, name and version; the rest once it is unpacked */
    struct pack_layer_part *parts;
    size_t part_count;
    const char *place; /* where it was unpacked; NULL: it is installed already */
};

struct pack_batch {
    const struct pack_install *work;
    const char *scratch; /* a directory of its own */
    struct arena *arena;
    const struct pack_spec *specs;
    size_t spec_count;
    struct pack_chosen chosen[PACK_LAYERS_MAX];
    size_t chosen_count;
    struct pack_package packages[PACK_SPECS_MAX]; /* their layers are indexes into `chosen` */
    size_t package_count;
};

/* In pip.c and npm.c: fetch the specs of their kind and add them to the batch. */
int pack_pip_fetch(struct pack_batch *b, struct err *err);
int pack_npm_fetch(struct pack_batch *b, struct err *err);
