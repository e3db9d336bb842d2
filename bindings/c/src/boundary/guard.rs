//! The begin and the end of each function of C.

use crate::code::Code;
use crate::failure::Failure;
use crate::runtime;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does the work of a function of C, and returns its code. A panic is an error of this library, and ends here.
pub(super) fn guarded(work: impl FnOnce() -> Result<(), Failure>) -> c_int {
    // Objects that a panic leaves behind may be of little use; they are safe code's, so they are never unsound.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        runtime::check()?;
        work()
    }));
    let failure = match outcome {
        Ok(Ok(())) => return Code::BERTHA_OK as c_int,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            // The drop of what was thrown may panic again.
            std::mem::forget(panic);
            Failure::new(Code::BERTHA_PANIC, "an error in the library; please report it")
        }
    };
    catch_unwind(|| failure.tell()).unwrap_or(Code::BERTHA_PANIC) as c_int
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_code() {
        assert_eq!(guarded(|| Ok(())), 0);
        assert_eq!(guarded(|| std::panic::panic_any(1)), Code::BERTHA_PANIC as c_int);
        assert_eq!(guarded(|| Err(Failure::LATE)), Code::BERTHA_WOULD_BLOCK as c_int);
    }
}
