/* Text that includes HIP's own header finds this one; the language is already there. */
#pragma once
#include "../hip_host.h"
