#include "relucent/config.h"
