/* `#include <hip/hip_runtime.h>` of a kernel text: the prelude is in front of every text already. */
#pragma once
