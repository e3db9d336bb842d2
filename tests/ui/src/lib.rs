//! The compiler's verdict on right and wrong compositions: the cases are in `cases`, their texts beside them.
