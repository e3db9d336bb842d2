//! Waiting for packets, messages and times.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;
use std::time::Duration;

/// The longest wait, after which the program looks if it has to end.
const LONGEST: Duration = Duration::from_millis(100);

/// Waits until a descriptor can be read, for `time` at most. The kernel's timers keep times far below a millisecond, unlike
/// those of tokio, so the rate of a sendbox is kept between two packets.
pub(crate) fn until_readable(one: &impl AsFd, other: &impl AsFd, time: Duration) {
    let time = time.min(LONGEST);
    let time = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
    let mut both = [PollFd::new(one, PollFlags::IN), PollFd::new(other, PollFlags::IN)];
    // An interrupted wait is merely shorter.
    poll(&mut both, Some(&time)).unwrap_or_default();
}
