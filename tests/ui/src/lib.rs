//! What the compiler says of right and wrong compositions: the cases are in `cases`, their texts beside them.
