#include "relucent/model/cross_encoder.h"
