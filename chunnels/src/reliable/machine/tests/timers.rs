//! Every timer is awaited, and has its effect.

use super::super::timers::Timer;
use super::*;
use crate::reliable::wire::{Draft, write};

fn short_idle() -> ReliableSettings {
    ReliableSettings { idle: Duration::from_secs(2), ..settings() }
}

/// Hands `machine` a packet that acknowledges nothing.
fn hear(machine: &mut Machine, number: u64, now: Duration) {
    let draft = Draft { number: Some(number), ..Draft::default() };
    let mut packet = Buf::new(machine.check.len() + draft.size(), 0).unwrap();
    write(&draft, [].into_iter(), machine.check, &mut packet);
    machine.handle_packet(packet, now);
}

fn send_all(machine: &mut Machine, now: Duration) {
    while machine.poll_packet(now, |len| Buf::new(len, 0)).is_some() {}
}

/// Returns a machine in which `timer` is set, and, of all timers that wait for the same state of the datapath, is the earliest.
fn waiting_for(timer: Timer) -> Machine {
    let mut machine = machine_with(short_idle(), Check::Crc, 1);
    match timer {
        Timer::Idle | Timer::KeepAlive => {}
        Timer::Delivery => {
            machine.send(message(0, 8));
            send_all(&mut machine, MS);
            hear(&mut machine, 0, 1_000 * MS);
        }
        Timer::LossDetection => {
            // Without a measured round trip, the probe would be later than the pace, and than a keep-alive.
            machine.recovery.rtt.sample(MS, Duration::ZERO, MS);
            machine.send(message(0, 8));
            send_all(&mut machine, MS);
        }
        Timer::Acknowledgement => hear(&mut machine, 0, MS),
        Timer::Pacing => {
            machine.pacer.spend(2 * machine.congestion.window());
            machine.send(message(0, 8));
            send_all(&mut machine, MS);
        }
        Timer::Starvation => {
            hear(&mut machine, 0, MS);
            let none = machine.poll_packet(2 * MS, |_| Err(Error::new(ErrorKind::Exhausted, "no buffer")));
            assert!(none.is_none());
        }
    }
    machine
}

/// Returns true if the connection below takes no packets while the test awaits `timer`, since earlier packets would move the timer.
fn is_blocked(timer: Timer) -> bool {
    match timer {
        Timer::Idle | Timer::Delivery => true,
        Timer::LossDetection
        | Timer::KeepAlive
        | Timer::Acknowledgement
        | Timer::Pacing
        | Timer::Starvation => false,
    }
}

#[test]
fn every_timer_is_awaited_and_has_an_effect_when_it_expires() {
    for timer in Timer::ALL {
        let mut machine = waiting_for(timer);
        let at = machine.expiry(timer);
        let (ready, blocked) = (machine.next_timeout(), machine.next_timeout_while_blocked());
        let next = if is_blocked(timer) { blocked } else { ready };
        assert!(at.is_some() && next == at, "{timer:?} is due at {at:?}, awaited is {next:?}");
        assert_eq!(blocked == at, is_blocked(timer), "{timer:?}");
        let now = at.unwrap();
        machine.on_timeout(now);
        if !is_blocked(timer) {
            send_all(&mut machine, now);
        }
        assert_ne!(machine.expiry(timer), at, "{timer:?} had no effect");
    }
}

#[test]
fn all_timers_that_have_expired_are_handled_at_once() {
    let mut machine = waiting_for(Timer::LossDetection);
    hear(&mut machine, 0, MS);
    let now = machine.expiry(Timer::LossDetection).max(machine.expiry(Timer::Acknowledgement)).unwrap();
    machine.on_timeout(now);
    send_all(&mut machine, now);
    assert_eq!(machine.expiry(Timer::Acknowledgement), None);
    assert!(machine.expiry(Timer::LossDetection).unwrap() > now);
    assert!(machine.next_timeout().unwrap() > now, "a task would spin");
}

#[test]
fn a_limit_holds_while_the_connection_below_takes_no_packets() {
    let mut wire = Wire::with(short_idle(), 1, Faults::NONE);
    wire.is_blocked = [true; 2];
    wire.ends[0].send(message(0, 8));
    wire.run_until(|ends| ends[0].end.is_some());
    assert_eq!(wire.now, Duration::from_secs(2));

    // The peer is heard, and acknowledges the message, but the acknowledgement of the peer's messages never leaves.
    let mut wire = Wire::with(short_idle(), 1, Faults::NONE);
    wire.is_blocked = [false, true];
    wire.ends[0].send(message(0, 8));
    wire.run_until(|ends| ends[0].end.is_some());
    assert_eq!(wire.now, Duration::from_secs(2));
}

/// What a process receives after a stop seems to have taken as long as the stop.
#[test]
fn a_process_that_was_stopped_has_time_for_several_probes() {
    let mut machine = waiting_for(Timer::LossDetection);
    for _ in 0..50 {
        machine.recovery.rtt.sample(1_500 * MS, Duration::ZERO, MS);
    }
    let probe = machine.expiry(Timer::LossDetection).unwrap();
    assert!(probe <= MS + short_idle().idle / 3, "{probe:?}");
}

/// A timer that stays expired would make the task spin, perhaps in the way of the task that would release buffers.
#[test]
fn without_a_buffer_no_timer_is_in_the_past() {
    for timer in Timer::ALL {
        let mut machine = waiting_for(timer);
        let mut now = 3 * MS;
        while machine.end.is_none() {
            let _ = machine.poll_packet(now, |_| Err(Error::new(ErrorKind::Exhausted, "no buffer")));
            let next = machine.next_timeout().unwrap();
            assert!(next > now, "{timer:?}: due at {next:?}, and it is {now:?}");
            now = next;
            machine.on_timeout(now);
            assert!(now <= 3_000 * MS, "{timer:?}: still trying at {now:?}");
        }
    }
}
