//! An error on its way to C, and the text of the latest one of each thread.

use crate::code::Code;
use bertha::{Error, rpc};
use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

/// An error: its code, a text, and flags that are true if the connection has ended with it, and if a call that failed may have
/// run nevertheless.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    text: Cow<'static, str>,
    ends_connection: bool,
    may_have_run: bool,
}

impl Failure {
    /// The time of a call is up.
    pub(crate) const LATE: Self = Self {
        code: Code::BERTHA_WOULD_BLOCK,
        text: Cow::Borrowed("the time of the call is up"),
        ends_connection: false,
        may_have_run: false,
    };

    /// A thread waited for an object that another thread has released.
    pub(crate) const RELEASED: Self = Self {
        code: Code::BERTHA_BAD_HANDLE,
        text: Cow::Borrowed("the handle was released"),
        ends_connection: false,
        may_have_run: false,
    };

    /// Nothing further comes, or is wanted.
    pub(crate) const END: Self = Self {
        code: Code::BERTHA_END,
        text: Cow::Borrowed("there is nothing further: it has ended, or nobody waits for it"),
        ends_connection: false,
        may_have_run: false,
    };

    pub(crate) fn new(code: Code, text: impl Into<Cow<'static, str>>) -> Self {
        Self { code, text: text.into(), ends_connection: false, may_have_run: false }
    }

    pub(crate) fn argument(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::BERTHA_BAD_ARGUMENT, text)
    }

    /// Returns the failure of a message that is longer than the connection carries.
    pub(crate) fn too_long(length: usize, longest: usize) -> Self {
        let text = format!("a message of {length} bytes, where the connection carries {longest}");
        Self::new(Code::BERTHA_TOO_LARGE, text)
    }

    pub(crate) fn is_late(&self) -> bool {
        self.code == Code::BERTHA_WOULD_BLOCK
    }

    /// Keeps the failure as the latest of this thread, and returns its code.
    pub(crate) fn tell(self) -> Code {
        let Self { code, text, ends_connection, may_have_run } = self;
        let told = Told { text: terminated(text), ends_connection, may_have_run };
        // A thread that ends has no place for it any more.
        let _ = LATEST.try_with(|latest| latest.replace(told));
        code
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let text = Cow::Owned(format!("{error:?}"));
        let ends_connection = error.ends_connection();
        Self { code: error.kind().into(), text, ends_connection, may_have_run: false }
    }
}

impl From<rpc::Failure> for Failure {
    fn from(failure: rpc::Failure) -> Self {
        Self {
            code: failure.kind().into(),
            text: Cow::Owned(failure.text().to_owned()),
            ends_connection: failure.kind() == rpc::FailureKind::Disconnected,
            may_have_run: failure.may_have_run(),
        }
    }
}

/// The latest failure of a thread.
struct Told {
    text: Cow<'static, CStr>,
    ends_connection: bool,
    may_have_run: bool,
}

thread_local! {
    static LATEST: RefCell<Told> =
        const { RefCell::new(Told { text: Cow::Borrowed(c""), ends_connection: false, may_have_run: false }) };
}

/// Returns the text of this thread's latest failure, which is there until the thread's next failure.
pub(crate) fn latest_text() -> *const c_char {
    LATEST.try_with(|latest| latest.borrow().text.as_ptr()).unwrap_or(c"".as_ptr())
}

/// Returns true if the connection has ended with this thread's latest failure.
pub(crate) fn latest_ends_connection() -> bool {
    LATEST.try_with(|latest| latest.borrow().ends_connection).unwrap_or(false)
}

/// Returns true if the call that failed latest in this thread may have run.
pub(crate) fn latest_may_have_run() -> bool {
    LATEST.try_with(|latest| latest.borrow().may_have_run).unwrap_or(false)
}

/// Returns the text with a zero at its end. A zero within it, as a peer may send, is left out.
fn terminated(text: Cow<'static, str>) -> Cow<'static, CStr> {
    let mut bytes = text.into_owned().into_bytes();
    bytes.retain(|byte| *byte != 0);
    CString::new(bytes).map_or(Cow::Borrowed(c""), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_a_peer_may_have_zeros() {
        assert_eq!(&*terminated("a\0b".into()), c"ab");
    }
}
