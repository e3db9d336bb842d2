//! Bytes that a program looks at, and leaves where they lie.

use crate::parts::{NOTHING, PARTS, cut, length, rest};
use crate::process::Socket;
use crate::step::{IDLE, Step};
use crate::{kernel, take};
use bertha_sockets_machine::{Ahead, Broken, Receiver, Side, Source};
use libc::iovec;
use std::sync::atomic::AtomicU64;

type Words<'a> = Side<'a, AtomicU64>;

/// Copies the bytes before the reader, without waiting.
pub(crate) fn look(
    socket: Socket,
    receiver: &mut Receiver,
    side: Words<'_>,
    parts: &[iovec],
) -> Result<Step, Broken> {
    for _ in 0..IDLE {
        if let Source::Bells(bells) = receiver.next(side)? {
            match take::take_bells(socket, receiver, side, bells) {
                None => continue,
                Some(Step::Empty) => return Ok(take::pending(socket)),
                Some(step) => return Ok(step),
            }
        }
        let unread = kernel::unread(socket.fd).unwrap_or(0);
        let ahead = receiver.ahead(side, unread, length(parts))?;
        if ahead.ring > 0 {
            return over_ring(socket, receiver, side, parts, ahead);
        }
        let mut some = [NOTHING; PARTS];
        let count = cut(parts, 0, usize::MAX, &mut some);
        let seen = take::peek(socket.fd, &some[..count]);
        // The end of the stream comes behind what has gone into the ring meanwhile.
        if !matches!(receiver.next(side)?, Source::Carrier) {
            continue;
        }
        match seen {
            Ok(seen) => match receiver.data_among(side, seen)? {
                0 => {}
                data => return Ok(Step::Got(data)),
            },
            Err(Step::Empty) => return Ok(take::pending(socket)),
            Err(step) => return Ok(step),
        }
    }
    Ok(Step::Empty)
}

/// Copies bytes of the carrier, of the ring behind them, and of the carrier behind those.
fn over_ring(
    socket: Socket,
    receiver: &Receiver,
    side: Words<'_>,
    parts: &[iovec],
    ahead: Ahead,
) -> Result<Step, Broken> {
    let wanted = length(parts);
    // The conversions are exact, as a minimum is a length.
    let before = ahead.before.min(wanted as u64) as usize;
    let behind = ahead.behind.min((wanted - before).saturating_sub(ahead.ring) as u64) as usize;
    let (seen, errno) = match around(socket, parts, before, ahead, behind) {
        Ok(seen) => (seen, libc::EFAULT),
        Err(Step::Failed(errno)) => (0, errno),
        Err(_) => (0, libc::EAGAIN),
    };
    let mut got = seen.min(before);
    if got == before && got < wanted {
        let mut cursor = receiver.cursor();
        for part in rest(parts, before) {
            let room = part.len().min(before + ahead.ring - got);
            let part = &mut part[..room];
            let copied = receiver.look(side, &mut cursor, part)?;
            got += copied;
            if copied < room || got == before + ahead.ring {
                break;
            }
        }
        let bells = usize::try_from(ahead.bells).unwrap_or(usize::MAX);
        if got == before + ahead.ring {
            got += seen.saturating_sub(before).saturating_sub(bells);
        }
    }
    Ok(if got > 0 { Step::Got(got) } else { Step::Failed(errno) })
}

/// Looks at the bytes of the carrier before the ring and behind it. Returns their number, that of bells between them included.
fn around(
    socket: Socket,
    parts: &[iovec],
    before: usize,
    ahead: Ahead,
    behind: usize,
) -> Result<usize, Step> {
    let mut some = [NOTHING; PARTS];
    let mut count = cut(parts, 0, before, &mut some);
    let mut nobody = [0_u8; 4096];
    let mut bells = usize::try_from(ahead.bells).unwrap_or(usize::MAX);
    while behind > 0 && bells > 0 {
        // With so many bells before them, the last bytes are told of later.
        let Some(place) = some.get_mut(count) else { break };
        let len = bells.min(nobody.len());
        *place = iovec { iov_base: nobody.as_mut_ptr().cast(), iov_len: len };
        (bells, count) = (bells - len, count + 1);
    }
    count += cut(parts, before + ahead.ring, behind, &mut some[count..]);
    if count == 0 { Ok(0) } else { take::peek(socket.fd, &some[..count]) }
}
