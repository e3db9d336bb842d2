//! The steps from a socket that has carried enough to memory shared with its other end, and the end of it.

use crate::place::{Receiving, Sending, State};
use crate::process::{self, Socket};
use crate::settings::{self, End};
use crate::visit::{self, Own};
use crate::{doorbell, handover, kernel, real, take, transmit, uring, watch};
use bertha_sockets_machine::control::{ASKED, CLOSED, Field, RESET};
use bertha_sockets_machine::protocol::{ANSWER, Answer, HELLO};
use bertha_sockets_machine::{Layout, Receiver, Sender, Source, Why};
use libc::c_int;
use std::sync::atomic::Ordering;

/// The calls of a socket that look for the daemon's answer before it gives up.
const LOOKS: u32 = 4096;

/// The word in the place of a request that is being made.
const ASKING: c_int = -1;

/// Counts a message that libc has sent or received, and asks the daemon once it is enough.
#[inline]
pub(crate) fn count(socket: Socket, bytes: isize) {
    if bytes > 0
        && (socket.place.toll.pays(bytes as usize) || settings::is_eager())
        && socket.place.state() == State::Counting
    {
        ask(socket);
    }
}

#[cold]
fn ask(socket: Socket) {
    if uring::is_known() || !is_fit(socket) {
        socket.place.go_on_from(State::Counting, State::Kernel);
        return;
    }
    if !socket.is_current() || !socket.is_ours_alone() || !watch::is_fit(socket.number) {
        return;
    }
    // Of threads that have carried enough at once, one asks. Another may have done so long ago.
    let place = socket.place;
    if place.request.compare_exchange(0, ASKING, Ordering::SeqCst, Ordering::Relaxed).is_err() {
        return;
    }
    let request = if place.state() == State::Counting { request(socket.fd) } else { None };
    place.tries.store(0, Ordering::Relaxed);
    place.request.store(request.map_or(0, |request| request + 1), Ordering::SeqCst);
    let next = if request.is_some() { State::Joining } else { State::Kernel };
    if !place.go_on_from(State::Counting, next) {
        close_request(socket);
    }
}

/// Returns true if the other end is on this machine, and the program has asked for nothing that a ring has not.
fn is_fit(socket: Socket) -> bool {
    const SMALLEST: c_int = 512 << 10;
    let option = |level, name| kernel::option(socket.fd, level, name);
    // SAFETY: the commands take no argument.
    let [flags, owner] =
        [libc::F_GETFL, libc::F_GETOWN].map(|command| unsafe { real::fcntl(socket.fd, command, 0) });
    is_near(socket.fd)
        && option(libc::SOL_SOCKET, libc::SO_PROTOCOL) == Some(libc::IPPROTO_TCP)
        && flags >= 0
        && flags & libc::O_ASYNC == 0
        && owner == 0
        && option(libc::SOL_SOCKET, libc::SO_ZEROCOPY) == Some(0)
        && option(libc::SOL_SOCKET, libc::SO_RCVLOWAT) == Some(1)
        // What is in the ring has to fit into the kernel's buffer when it goes back.
        && option(libc::SOL_SOCKET, libc::SO_SNDBUF).is_some_and(|bytes| bytes >= SMALLEST)
}

/// Returns true if the two addresses are of one machine, of loopback or the same, and the rules let the connection use a ring.
fn is_near(fd: c_int) -> bool {
    match (end_at(fd, libc::SYS_getsockname), end_at(fd, libc::SYS_getpeername)) {
        (Some(local), Some(peer)) => {
            let is_near =
                local.ip == peer.ip || settings::is_loopback(&local.ip) && settings::is_loopback(&peer.ip);
            is_near && settings::allow(fd, [local, peer])
        }
        _ => false,
    }
}

/// Asks the kernel for an end of the connection.
fn end_at(fd: c_int, call: libc::c_long) -> Option<End> {
    let mut storage = [0_u8; 128];
    let mut len: u32 = 128;
    // SAFETY: the buffer has this length.
    let done = unsafe {
        real::syscall(call, fd as usize, storage.as_mut_ptr().addr(), (&raw mut len).addr(), 0, 0, 0)
    };
    let family = i32::from(u16::from_ne_bytes([storage[0], storage[1]]));
    let port = u16::from_be_bytes([storage[2], storage[3]]);
    let ip = match (done, family) {
        (0, libc::AF_INET) => {
            let mut mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0];
            mapped[12..].copy_from_slice(&storage[4..8]);
            mapped
        }
        (0, libc::AF_INET6) => storage[8..24].try_into().ok()?,
        _ => return None,
    };
    Some(End { ip, port })
}

/// Hands the socket to the daemon. Returns the socket on which it answers.
fn request(fd: c_int) -> Option<c_int> {
    let request = process::make_own(visit::daemon(libc::SOCK_NONBLOCK)?.keep());
    let sent = visit::send_with(request, &[visit::part(&HELLO)], &[fd], libc::MSG_DONTWAIT);
    if sent == HELLO.len() as isize && process::is_own(request) {
        return Some(request);
    }
    process::set_own(request, false);
    // SAFETY: the descriptor was made above.
    unsafe { real::close(request) };
    None
}

/// Looks for the daemon's answer, and begins to use the memory once no other call of this process is under way.
#[cold]
pub(crate) fn go_on(socket: Socket) {
    let place = socket.place;
    // A child has the socket, too, and not what the daemon answers.
    if !socket.is_ours_alone() {
        return;
    }
    let looks = place.tries.fetch_add(1, Ordering::Relaxed);
    // An answer comes soon, or late.
    if looks > 64 && !looks.is_multiple_of(16) {
        return;
    }
    let request = place.request.load(Ordering::Relaxed);
    if request > 0 {
        match answer(request - 1) {
            None if looks < LOOKS => return,
            None => return give_up(socket, None),
            Some((answer, file)) => {
                // The mapping stays when the file is closed.
                if take(socket, request, answer, file).is_none() {
                    return give_up(socket, None);
                }
            }
        }
    }
    if looks >= LOOKS {
        return give_up(socket, None);
    }
    attach(socket);
}

/// Maps the memory.
fn take(socket: Socket, request: c_int, answer: Answer, file: Option<Own>) -> Option<()> {
    let (bytes, is_client) = match answer {
        Answer::Client(bytes) => (bytes, true),
        Answer::Server(bytes) => (bytes, false),
        Answer::Refused => return None,
    };
    let layout = Layout::new(usize::try_from(bytes).ok()?)?;
    // Two threads may have the answer in turn, and one takes it.
    let place = socket.place;
    place.request.compare_exchange(request, 0, Ordering::AcqRel, Ordering::Relaxed).ok()?;
    close_own(request - 1);
    place.set_ring(layout);
    place.is_client.store(is_client, Ordering::Relaxed);
    place.memory.map(file?.0, layout.memory_bytes()).then_some(())
}

/// Reads the answer, if it is there; one without memory if the daemon is gone.
fn answer(request: c_int) -> Option<(Answer, Option<Own>)> {
    let mut bytes = [0_u8; ANSWER];
    let (read, file) = visit::hear(request, &mut bytes, libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC);
    if read < 0 && crate::errno::last() == libc::EAGAIN {
        return None;
    }
    let is_whole = read == ANSWER as isize && file.is_some();
    Some((if is_whole { Answer::decode(&bytes) } else { Answer::Refused }, file))
}

/// Begins to use the memory, unless another call is under way.
fn attach(socket: Socket) {
    let place = socket.place;
    if uring::is_there() {
        return give_up(socket, Some(Why::Uring));
    }
    let Some(mut watches) = watch::lock() else { return };
    let (Ok(sending), Ok(receiving)) = (place.sending(), place.receiving()) else { return };
    if place.state() != State::Joining
        || place.request.load(Ordering::Relaxed) != 0
        || !socket.is_ours_alone()
    {
        return;
    }
    place.set_state(State::Attaching);
    // A call that begins from now on sees the state, and waits for the locks.
    if place.calls.load(Ordering::SeqCst) != 0 {
        place.set_state(State::Joining);
        return;
    }
    let Some(carried) = kernel::carried(socket.fd) else {
        place.set_state(State::Kernel);
        return;
    };
    let Some(side) = receiving.side() else {
        place.set_state(State::Kernel);
        return;
    };
    // Before the other end may write into the ring: a wait that does not know of the ring would not hear of it.
    if !watch::attached(&mut watches, socket) {
        place.set_state(State::Kernel);
        return;
    }
    let receiver = Receiver::new(side, carried.read);
    receiver.attach(side);
    place.begin(&sending, &receiving, Sender::new(carried.written), receiver);
    place.nonblocking.store(kernel::is_nonblocking(socket.fd), Ordering::Relaxed);
    let nodelay = kernel::option(socket.fd, libc::IPPROTO_TCP, libc::TCP_NODELAY) != Some(0);
    place.nodelay.store(nodelay, Ordering::Relaxed);
    // A bell must not wait for an acknowledgement.
    kernel::set_option(socket.fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, &1_i32);
    place.set_state(State::Paired);
}

/// Gives the options of the socket back that the program set.
pub(crate) fn restore(socket: Socket) {
    if !socket.place.nodelay.load(Ordering::Relaxed) {
        kernel::set_option(socket.fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, &0_i32);
    }
}

/// Stops waiting for the daemon. The socket stays with the kernel, and a person who asks is told why.
pub(crate) fn give_up(socket: Socket, why: Option<Why>) {
    let place = socket.place;
    if !matches!(place.state(), State::Joining | State::Attaching) {
        return;
    }
    close_request(socket);
    if let (Ok(_sending), Ok(receiving)) = (place.sending(), place.receiving())
        && place.state() == State::Joining
    {
        if let Some(side) = receiving.side() {
            side.control.set(Field::Recall, ASKED);
        }
        if let Some((side, why)) = place.side(true).zip(why) {
            side.control.set(Field::Why, why as u64);
        }
        place.set_state(State::Kernel);
        place.memory.unmap(socket.is_ours_alone());
    }
}

fn close_own(fd: c_int) {
    if !process::is_own(fd) {
        return;
    }
    process::set_own(fd, false);
    // SAFETY: the descriptor is this library's.
    unsafe { real::close(fd) };
}

/// Gives up a request whose descriptor the program closes.
pub(crate) fn lose(fd: c_int) {
    doorbell::lost(fd);
    handover::lost(fd);
    for socket in process::sockets() {
        if socket.place.request.load(Ordering::Relaxed) == fd + 1 {
            return give_up(socket, None);
        }
    }
    process::set_own(fd, false);
}

fn close_request(socket: Socket) {
    let request = socket.place.request.swap(0, Ordering::AcqRel);
    if request > 0 {
        close_own(request - 1);
    }
}

/// Leaves the other end in order, before the last descriptor of this process is closed.
#[cold]
pub(crate) fn end(socket: Socket) {
    let place = socket.place;
    let is_last = socket.is_ours_alone();
    if is_last {
        close_request(socket);
        answer_at_last(socket);
    }
    if let (Ok(mut sending), Ok(mut receiving)) = (place.sending(), place.receiving()) {
        if is_last {
            part(socket, &mut sending, &mut receiving);
            place.set_state(State::Kernel);
        }
        place.memory.unmap(is_last);
    }
    watch::forget(socket.number);
    place.processes.fetch_sub(1, Ordering::SeqCst);
}

/// Leaves the other end in order, before the process ends. Other threads may go on until then, so nothing else is undone.
#[cold]
pub(crate) fn end_with_process(socket: Socket) {
    let place = socket.place;
    if socket.is_ours_alone() {
        answer_at_last(socket);
        if let (Ok(mut sending), Ok(mut receiving)) = (place.sending(), place.receiving()) {
            part(socket, &mut sending, &mut receiving);
        }
    }
    place.processes.fetch_sub(1, Ordering::SeqCst);
}

/// Gives the other end what it has asked for.
fn answer_at_last(socket: Socket) {
    for _ in 0..10 {
        if transmit::answer_at_last(socket) {
            break;
        }
        kernel::await_room(socket.fd, 100);
    }
}

/// Tells the other end that this one is gone. No other process has the socket.
fn part(socket: Socket, sending: &mut Sending<'_>, receiving: &mut Receiving<'_>) {
    match socket.place.state() {
        State::Joining => {
            if let Some(side) = receiving.side() {
                side.control.set(Field::Gone, 1);
            }
        }
        State::Paired => {
            let (Some((sender, out)), Some((receiver, side))) = (sending.parts(), receiving.parts()) else {
                return;
            };
            let on_carrier = kernel::unread(socket.fd).unwrap_or(0);
            let is_unread = receiver.next(side).is_ok()
                && receiver.ahead(side, on_carrier, 1).is_ok_and(|ahead| ahead.total() > 0);
            if is_unread {
                // TCP tells its peer that bytes were not read.
                let linger = libc::linger { l_onoff: 1, l_linger: 0 };
                kernel::set_option(socket.fd, libc::SOL_SOCKET, libc::SO_LINGER, &linger);
            }
            // What lies in the ring stays there for an end that asks for it too late.
            sender.bar(out);
            let is_reset = is_unread || kernel::aborts(socket.fd);
            out.control.set(Field::Ended, if is_reset { RESET } else { CLOSED });
            side.control.set(Field::Gone, 1);
            // A bell that nobody has read would make a reset of the end.
            if let Ok(Source::Bells(1..)) = receiver.next(side) {
                take::discard_bells(socket, receiver, side);
            }
        }
        State::Counting | State::Attaching | State::Kernel => {}
    }
}
