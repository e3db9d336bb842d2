//! A time in which a thread has no signals.

use std::mem::MaybeUninit;

/// Has the signals of this thread wait as long as it lives. A handler that jumps out of a call would leave descriptors behind, and a socket
/// whose place was taken and that nobody knows.
pub(crate) struct Quiet(libc::sigset_t);

impl Quiet {
    pub(crate) fn begin() -> Self {
        let (mut all, mut before) = (MaybeUninit::zeroed(), MaybeUninit::<libc::sigset_t>::zeroed());
        // SAFETY: the call fills the set.
        unsafe { libc::sigfillset(all.as_mut_ptr()) };
        // SAFETY: both are sets of this function.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
        // SAFETY: zeros are a set, too.
        Self(unsafe { before.assume_init() })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // SAFETY: the set is the one that the thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}
