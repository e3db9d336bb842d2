use super::*;
use proptest::prelude::*;
use std::time::Duration;

const PACKET: u64 = 1000;

/// A flow that fills its window over round trips of 100 ms.
struct Feed {
    flow: Box<dyn CongestionControl>,
    now: Duration,
}

impl Feed {
    fn of(algorithm: impl Algorithm) -> Self {
        Self { flow: algorithm.start(PACKET), now: Duration::from_secs(1) }
    }

    const ROUND: Duration = Duration::from_millis(100);

    /// Acknowledges a whole window, of which the first `lost` acknowledgements report a loss.
    fn round(&mut self, lost: u64) -> u64 {
        let packets = self.flow.window() / PACKET;
        let signals = Flow { rtt_sample_us: 100_000, ..Flow::default() };
        for packet in 0..packets {
            let now = self.now + Self::ROUND * packet as u32 / packets as u32;
            let ack = Ack {
                bytes_acked: PACKET,
                packets_acked: 1,
                lost_pkts_sample: u64::from(packet < lost),
                now,
                newest_acked_sent: Some(now - Self::ROUND),
                newest_lost_sent: (packet < lost).then(|| now - Self::ROUND),
                ..Ack::default()
            };
            self.flow.on_ack(&ack, &signals);
        }
        self.now += Self::ROUND;
        self.flow.window()
    }
}

#[test]
fn newreno_doubles_then_halves_then_adds_one_a_round() {
    let mut feed = Feed::of(NewReno);
    assert_eq!([feed.round(0), feed.round(0)], [20_000, 40_000]);
    // Several losses in a round trip halve the window once, and it does not grow in that time.
    assert_eq!(feed.round(5), 20_500);
    // A round acknowledges whole packets, so ten rounds are a little less than ten windows.
    let grown = (0..10).map(|_| feed.round(0)).last().unwrap();
    assert!((29_500..30_500).contains(&grown), "{grown} after ten rounds");
}

#[test]
fn persistent_congestion_leaves_two_packets() {
    for algorithm in [&NewReno as &dyn Algorithm, &Cubic] {
        let mut flow = algorithm.start(PACKET);
        let now = Duration::from_secs(1);
        let ack = Ack { lost_pkts_sample: 9, newest_lost_sent: Some(now), now, ..Ack::default() };
        flow.on_ack(&ack, &Flow { was_timeout: true, ..Flow::default() });
        assert_eq!(flow.window(), 2 * PACKET, "{algorithm:?}");
    }
}

#[test]
fn a_mark_counts_as_a_loss() {
    for algorithm in [&NewReno as &dyn Algorithm, &Cubic] {
        let mut flow = algorithm.start(PACKET);
        let now = Duration::from_secs(1);
        let ack =
            Ack { ecn_packets: 1, ecn_bytes: PACKET, newest_acked_sent: Some(now), now, ..Ack::default() };
        flow.on_ack(&ack, &Flow::default());
        assert!(flow.window() < 10 * PACKET, "{algorithm:?}");
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for algorithm in [&NewReno as &dyn Algorithm, &Cubic] {
        let mut flow = algorithm.start(PACKET);
        let now = Duration::from_secs(1);
        let ack = Ack { bytes_acked: PACKET, newest_acked_sent: Some(now), now, ..Ack::default() };
        flow.on_ack(&ack, &Flow { is_window_unused: true, ..Flow::default() });
        assert_eq!(flow.window(), 10 * PACKET, "{algorithm:?}");
    }
}

/// The curve of RFC 9438, figure 1: with `W_max` = 1000 packets, K is (1000 · 0.3 / 0.4)^(1/3), about 9.1 s.
#[test]
fn cubic_is_back_at_its_maximum_after_k_seconds() {
    let mut feed = Feed::of(Cubic);
    while feed.flow.window() < 1000 * PACKET {
        feed.round(0);
    }
    let max = feed.flow.window() as f64;
    let after = feed.round(1) as f64;
    assert!((0.69..0.72).contains(&(after / max)), "{after} of {max}");
    let k = (max / PACKET as f64 * 0.3 / 0.4).cbrt();
    let start = feed.now;
    let mut last = after;
    while (feed.now - start).as_secs_f64() < k {
        let window = feed.round(0) as f64;
        assert!(window >= last && window <= max * 1.02, "{window} after {last}");
        last = window;
    }
    assert!(last > max * 0.98, "{last} of {max} after {k} s");
    for _ in 0..50 {
        last = feed.round(0) as f64;
    }
    assert!(last > max * 1.02, "{last} of {max} later on");
}

/// A path of a million bytes per second and 100 ms, whose queue holds the bytes in flight beyond 100,000.
#[test]
fn bbr_finds_the_rate_and_keeps_the_queue_short() {
    let mut flow = Bbr.start(PACKET);
    let (rate, delay) = (1e6, 0.1);
    let mut queues = Vec::new();
    let mut now = Duration::from_secs(1);
    let mut in_flight: f64 = 10_000.0;
    for step in 0..4000 {
        let rtt = (in_flight / rate).max(delay);
        let delivered = in_flight / rtt;
        let ack = Ack {
            bytes_acked: (delivered * 0.01) as u64,
            now,
            newest_acked_sent: Some(now - Duration::from_secs_f64(rtt)),
            ..Ack::default()
        };
        let sending = flow.rate().map_or(delivered * 2.0, |rate| rate as f64);
        flow.on_ack(
            &ack,
            &Flow {
                rtt_sample_us: (rtt * 1e6) as u64,
                rate_incoming: delivered as u64,
                rate_outgoing: delivered as u64,
                bytes_in_flight: in_flight as u64,
                packets_in_flight: in_flight as u64 / PACKET,
                ..Flow::default()
            },
        );
        in_flight = (in_flight + (sending - delivered) * 0.01).min(flow.window() as f64).max(1000.0);
        now += Duration::from_millis(10);
        if step > 300 {
            queues.push((in_flight / rate - delay).max(0.0));
        }
    }
    let found = flow.rate().unwrap() as f64;
    assert!((0.7e6..1.3e6).contains(&found), "a rate of {found}");
    let mean = queues.iter().sum::<f64>() / queues.len() as f64;
    assert!(mean < 0.02, "a mean queue of {mean} s");
}

/// Returns the bytes that a flow of a million bytes per second and 100 ms, alone on its path, may have in
/// flight after a number of rounds.
fn bbr_after(rounds: u64, mut alter: impl FnMut(u64, &mut Ack, &mut Flow)) -> u64 {
    let mut flow = Bbr.start(PACKET);
    for round in 0..rounds {
        let now = Duration::from_millis(1_000 + 100 * round);
        let newest_acked_sent = Some(now - Duration::from_millis(100));
        let mut ack = Ack { bytes_acked: 100_000, now, newest_acked_sent, ..Ack::default() };
        let rates = Flow { rate_incoming: 1_000_000, rate_outgoing: 1_000_000, ..Flow::default() };
        let mut signals = Flow {
            rtt_sample_us: 100_000 + round,
            bytes_in_flight: 100_000,
            packets_in_flight: 100,
            ..rates
        };
        alter(round, &mut ack, &mut signals);
        flow.on_ack(&ack, &signals);
    }
    flow.window()
}

#[test]
fn bbr_probes_the_delay_every_ten_seconds_unless_it_has_little_to_send() {
    assert!(bbr_after(100, |_, _, _| {}) > 200_000);
    assert_eq!(bbr_after(105, |_, _, _| {}), 4 * PACKET);
    assert!(bbr_after(105, |_, _, flow| flow.is_app_limited = true) > 200_000);
}

#[test]
fn bbr_begins_anew_after_persistent_congestion() {
    let congested = |at| move |round, _: &mut Ack, flow: &mut Flow| flow.was_timeout = round == at;
    assert_eq!(bbr_after(51, congested(50)), 4 * PACKET);
    assert!((15_000..=40_000).contains(&bbr_after(55, congested(50))));
    assert!(bbr_after(70, congested(50)) > 200_000);
}

fn any_ack() -> impl Strategy<Value = (Ack, Flow)> {
    let numbers = (0..u64::MAX >> 24, 0..1_000_000_u64, 0..100_u64, 0..u64::MAX >> 24, 0..10_000_u64);
    (numbers, 0..u64::MAX >> 20, any::<[bool; 4]>(), any::<[u32; 2]>()).prop_map(
        |((bytes, packets, lost, in_flight, now), rate, [timeout, limited, acked, marked], sent)| {
            let [acked_at, lost_at] = sent.map(|sent| Duration::from_millis(u64::from(sent) % (now + 1)));
            let ack = Ack {
                bytes_acked: if acked { bytes } else { 0 },
                packets_acked: packets,
                lost_pkts_sample: lost,
                ecn_packets: u64::from(marked),
                now: Duration::from_millis(now),
                newest_acked_sent: acked.then_some(acked_at),
                newest_lost_sent: (lost > 0).then_some(lost_at),
                ..Ack::default()
            };
            let flow = Flow {
                was_timeout: timeout,
                rtt_sample_us: rate & 0xff_ffff,
                rate_incoming: rate,
                rate_outgoing: rate / 2,
                bytes_in_flight: in_flight,
                packets_in_flight: in_flight / PACKET,
                is_app_limited: limited,
                is_window_unused: limited,
                bytes_pending: 0,
            };
            (ack, flow)
        },
    )
}

proptest! {
    #[test]
    fn whatever_is_reported_the_window_holds_two_packets(
        reports in prop::collection::vec(any_ack(), 1..200),
    ) {
        for algorithm in [&NewReno as &dyn Algorithm, &Cubic, &Bbr, &FixedWindow(0)] {
            let mut flow = algorithm.start(PACKET);
            for (ack, signals) in &reports {
                flow.on_ack(ack, signals);
                prop_assert!(flow.window() >= 2 * PACKET, "{:?}", flow);
            }
        }
    }
}
