#include "lact/base/error.h"
