//! Two ends over a network that loses, repeats and reorders what they say, in random schedules.

use super::*;
use bertha_core::LayerInfo;

/// How long an end may take for what it has to do, and a message on its way, in milliseconds.
const SLOW: u64 = 120;

fn stack() -> Vec<Node> {
    let one = |name| vec![Node::Layer(LayerInfo::plain(name, 1))];
    vec![Node::Select { branches: [one("test::A"), one("test::B")], prefer: 0.into() }]
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// What an end has to do later.
enum Later {
    Hear(Upgrade),
    Built(bool),
    Sent(bool),
    Received,
    Wish(usize),
}

struct End {
    upgrades: Upgrades,
    is_staged: bool,
    is_built: bool,
    /// The rounds that it has begun, with the picks of each.
    begun: Vec<(u64, Vec<u8>)>,
    wishes: u32,
    reports: u32,
    later: Vec<(Instant, Later)>,
}

impl End {
    fn new(role: Role) -> Self {
        let times = (Duration::from_secs(10), Duration::from_millis(100));
        Self {
            upgrades: Upgrades::new((7, role), stack(), vec![0], Requirements::OPEN, times),
            is_staged: false,
            is_built: false,
            begun: Vec::new(),
            wishes: 0,
            reports: 0,
            later: Vec::new(),
        }
    }

    /// Does what is due, and gives what it says.
    fn step(&mut self, now: Instant, dice: &mut Dice, fails: bool) -> Vec<Upgrade> {
        while let Some(at) = self.later.iter().position(|(due, _)| *due <= now) {
            match self.later.swap_remove(at).1 {
                Later::Hear(upgrade) => self.upgrades.handle(now, upgrade),
                Later::Built(is_good) if self.is_staged => {
                    self.is_built = is_good;
                    let failure = || Err(error(ErrorKind::Exhausted, "no licence left"));
                    self.upgrades.built(now, if is_good { Ok(()) } else { failure() });
                }
                Later::Built(_) => {}
                Later::Sent(true) => self.upgrades.sent(now, Ok(5)),
                Later::Sent(false) => self.upgrades.sent(now, Err(error(ErrorKind::TimedOut, "stuck"))),
                Later::Received => self.upgrades.received(now),
                Later::Wish(_) if self.upgrades.has_wish() => {}
                Later::Wish(alternative) => {
                    self.wishes += 1;
                    self.upgrades.wish(now, Pick::alternative(alternative));
                }
            }
        }
        let mut said = Vec::new();
        loop {
            while let Some(upgrade) = self.upgrades.poll_transmit(now) {
                said.push(upgrade);
            }
            let Some(act) = self.upgrades.poll_act() else { return said };
            let due = now + Duration::from_millis(dice.roll(SLOW));
            match act {
                Act::Stage { .. } => (self.is_staged, self.is_built) = (true, false),
                Act::Discard => {
                    (self.is_staged, self.is_built) = (false, false);
                    self.later.retain(|(_, it)| !matches!(it, Later::Built(_)));
                }
                Act::Build { .. } => {
                    assert!(self.is_staged);
                    self.later.push((due, Later::Built(!fails || dice.roll(10) > 0)));
                }
                Act::EndSending { may_fail } => {
                    assert!(self.is_built, "a round ends before there is another");
                    self.later.push((due, Later::Sent(!(may_fail && fails) || dice.roll(10) > 0)));
                }
                Act::Begin { round, terms } => {
                    assert!(self.is_built);
                    self.begun.push((round, terms.picks));
                }
                Act::EndReceiving { sent } => {
                    assert_eq!(sent, 5);
                    self.later.push((due, Later::Received));
                }
                Act::Retire => assert!(self.is_built),
                Act::Report(_) => self.reports += 1,
            }
        }
    }
}

/// Lets both ends wish at random for a while, then the network heals, and both come to rest with the same stack.
fn run(seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (start, loss) = (Instant::now(), dice.roll(5) * 10);
    let mut ends = [End::new(Role::Client), End::new(Role::Server)];
    for end in &mut ends {
        for _ in 0..dice.roll(6) {
            let due = start + Duration::from_millis(dice.roll(3000));
            end.later.push((due, Later::Wish(dice.roll(2) as usize)));
        }
    }
    for milliseconds in 0..60_000 {
        let now = start + Duration::from_millis(milliseconds);
        let is_poor = milliseconds < 15_000;
        for this in 0..2 {
            for upgrade in ends[this].step(now, &mut dice, is_poor) {
                let copies = match dice.roll(100) {
                    roll if is_poor && roll < loss => 0,
                    roll if is_poor && roll > 90 => 2,
                    _ => 1,
                };
                for _ in 0..copies {
                    let due = now + Duration::from_millis(1 + if is_poor { dice.roll(SLOW) } else { 0 });
                    ends[1 - this].later.push((due, Later::Hear(upgrade.clone())));
                }
            }
        }
        // Neither is ever more than one round ahead, and both are in the same ones.
        let [client, server] = &ends;
        let common = client.begun.len().min(server.begun.len());
        assert!(client.begun.len().max(server.begun.len()) <= common + 1, "seed {seed}");
        assert_eq!(client.begun[..common], server.begun[..common], "seed {seed}");
    }
    let [client, server] = &ends;
    assert_eq!(client.begun, server.begun, "seed {seed}");
    for end in &ends {
        assert!(end.upgrades.is_idle(), "seed {seed}: {:?}", end.upgrades);
        assert_eq!(end.wishes, end.reports, "seed {seed}");
    }
}

#[test]
fn both_ends_change_together_or_not_at_all() {
    for seed in 0..60 {
        run(seed);
    }
}
