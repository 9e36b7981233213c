/* Names of people and street addresses: readers that look at every word, and run only where they are asked
 * for. */
#pragma once

#include "filter/detect.h"

void pii_people_scan(struct detect *d);
/* streets.c: a number and a word for a street, in several languages. */
void pii_streets_scan(struct detect *d);
