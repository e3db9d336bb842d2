//! Programs, made out of seeds.

use std::fmt;

/// The calls of steps with their weights.
const CALLS: &[(&str, u32)] = &[
    ("read", 22),
    ("write", 26),
    ("poll", 10),
    ("close", 2),
    ("shutdown", 2),
    ("dup", 4),
    ("option", 5),
    ("flags", 2),
    ("bulk", 6),
    ("pingpong", 4),
    ("fill", 1),
    ("epoll_ctl", 7),
    ("epoll_wait", 8),
    ("child", 3),
    ("hold", 1),
    ("release", 2),
    ("await", 8),
    ("await_room", 1),
    ("names", 1),
    ("strange", 2),
    ("pause", 4),
    ("stdio", 1),
    ("splice", 1),
    ("oob", 1),
];

/// The variant of the call `option` that sets SO_RCVLOWAT to one.
const RETURNS: u32 = 7;

/// The kind of the processes of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Both ends are threads of one process.
    Threads,
    /// The ends are processes.
    Processes,
}

/// A step: a call by an end of a connection. The meaning of its numbers depends on the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    call: &'static str,
    connection: u32,
    end: u32,
    variant: u32,
    amount: u32,
    extra: u32,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The kind of its processes.
    pub mode: Mode,
    /// Its steps in order.
    pub steps: Vec<Step>,
}

impl Program {
    /// Makes the program of a seed.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let mut random = Random(seed);
        let mode = if random.below(3) == 0 { Mode::Processes } else { Mode::Threads };
        let mut steps = vec![open(&mut random, 0)];
        // Three of four programs carry enough at once that the connection is worth a ring.
        if random.below(4) != 0 {
            steps.push(warm_up(&mut random));
            steps.push(Step { amount: 5 + random.below(15), ..step("pause", 0, 0) });
        }
        for _ in 0..10 + random.below(50) {
            if random.below(20) == 0 {
                let connection = random.below(3);
                steps.push(open(&mut random, connection));
            }
            steps.push(any(&mut random));
        }
        Self { mode, steps }
    }

    /// Returns the program with some more steps, at places that depend on the seed: an end sets an option that a kernel socket has anyway, and
    /// for which a ring is left. So either end takes streams back before any call.
    #[must_use]
    pub fn with_returns(&self, seed: u64) -> Self {
        let mut random = Random(!seed);
        let mut steps = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            // Not before there is a ring.
            if at > 2 && random.below(12) == 0 {
                let connection = if random.below(4) == 0 { random.below(3) } else { 0 };
                steps.push(Step {
                    variant: RETURNS,
                    extra: random.below(512),
                    ..self::step("option", connection, random.below(2))
                });
            }
            steps.push(step.clone());
        }
        Self { mode: self.mode, steps }
    }

    /// Returns the program with a part of its steps left out.
    #[must_use]
    pub fn without(&self, left_out: std::ops::Range<usize>) -> Self {
        let kept = |at: &usize| !left_out.contains(at);
        let steps = (0..self.steps.len()).filter(kept).map(|at| self.steps[at].clone());
        Self { mode: self.mode, steps: steps.collect() }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", if self.mode == Mode::Threads { "threads" } else { "processes" })?;
        for Step { call, connection, end, variant, amount, extra } in &self.steps {
            writeln!(f, "{call} {connection} {end} {variant} {amount} {extra}")?;
        }
        Ok(())
    }
}

const fn step(call: &'static str, connection: u32, end: u32) -> Step {
    Step { call, connection, end, variant: 0, amount: 0, extra: 0 }
}

fn open(random: &mut Random, connection: u32) -> Step {
    // Mostly plain ends; `extra` has flags of both.
    let extra = if random.below(3) == 0 { random.below(64) } else { 0 };
    Step { variant: random.below(3), extra, ..step("open", connection, 0) }
}

fn warm_up(random: &mut Random) -> Step {
    let end = random.below(2);
    if random.below(2) == 0 {
        Step { variant: random.below(70), amount: 70_000 + random.below(200_000), ..step("bulk", 0, end) }
    } else {
        Step { variant: 20 + random.below(60), amount: 1 + random.below(200), ..step("pingpong", 0, end) }
    }
}

fn any(random: &mut Random) -> Step {
    let total = CALLS.iter().map(|(_, weight)| weight).sum();
    let mut at = random.below(total);
    let mut call = "read";
    for (name, weight) in CALLS {
        if at < *weight {
            call = name;
            break;
        }
        at -= weight;
    }
    // Most steps are about the first connection, so that much happens to it.
    let connection = if random.below(4) == 0 { random.below(3) } else { 0 };
    let amount = match (call, random.below(8)) {
        ("bulk", _) => random.below(400_000),
        ("pingpong", _) => 1 + random.below(3000),
        ("fill", _) => 500 + random.below(60_000),
        (_, 0) => random.below(3),
        (_, 1 | 2) => random.below(20_000),
        _ => random.below(1200),
    };
    let variant = if call == "pingpong" { random.below(60) } else { random.below(80) };
    let mut extra = random.below(512);
    // Flags of a read: most reads have none.
    if matches!(call, "read" | "write") && random.below(2) == 0 {
        extra = random.below(4) * 64;
    }
    Step { variant, amount, extra, ..step(call, connection, random.below(2)) }
}

/// The generator SplitMix64, whose numbers are those of the seed on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below the bound, which is not zero.
    fn below(&mut self, bound: u32) -> u32 {
        // The high half: its bias is far below what a test could see.
        u32::try_from(((self.next() >> 32) * u64::from(bound)) >> 32).unwrap_or(0)
    }
}
