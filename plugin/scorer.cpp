#include "relucent/scorer.h"
