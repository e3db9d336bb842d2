//! An interpreter of the program, by which tests compare it with the function from keys to shards.

use super::code::{LOOK_UP, MAP, code, opcode::*};
use bertha_bpf_sys::{Instruction, KEY, KeySet, Program};
use bertha_chunnels::ShardMap;
use bertha_core::{Addr, Steering};
use proptest::prelude::*;
use std::io::ErrorKind;
use std::num::NonZero;

/// The number of the map's descriptor.
const PREFIXES: i32 = 77;

/// The address at which the stack ends.
const STACK: u64 = 1 << 32;

/// The result of a look-up that finds the key.
const FOUND: u64 = 1 << 33;

/// Runs a program over a datagram, with a map of one prefix.
fn run(code: &[Instruction], datagram: &[u8], prefix: &[u8]) -> u64 {
    let mut registers = [0_u64; 11];
    registers[10] = STACK;
    let mut stack = [0_u8; KEY];
    let mut at = 0;
    let load = |from: i32, bytes: usize| {
        let from = usize::try_from(from).unwrap();
        let bytes = datagram.get(from..from + bytes)?;
        Some(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    };
    loop {
        let Instruction { opcode, destination, source, offset, immediate } = code[at];
        let [to, from] = [destination, source].map(usize::from);
        let constant = immediate as i64 as u64;
        at += 1;
        let jumps = match opcode {
            JUMP_IF_EQUAL => registers[to] == constant,
            JUMP_IF_GREATER => registers[to] > constant,
            JUMP_IF_AT_MOST => registers[to] <= constant,
            _ => false,
        };
        if jumps {
            assert!(offset >= 0, "a jump leads backwards");
            at += offset as usize;
        }
        match opcode {
            JUMP_IF_EQUAL | JUMP_IF_GREATER | JUMP_IF_AT_MOST => {}
            LOAD_WORD | LOAD_BYTE => {
                let loaded = load(immediate, if opcode == LOAD_WORD { 4 } else { 1 });
                let Some(loaded) = loaded else { return 0 };
                // The kernel leaves nothing in the other registers that a program may read.
                registers[..6].fill(0xdead_beef);
                registers[0] = loaded;
            }
            LOAD_CONSTANT => {
                let high = code[at].immediate as u32;
                at += 1;
                registers[to] = u64::from(high) << 32 | u64::from(immediate as u32);
                assert!(source != MAP || registers[to] == PREFIXES as u64);
            }
            STORE_WORD => {
                let place = (KEY as i16 + offset) as usize;
                stack[place..place + 4].copy_from_slice(&(registers[from] as u32).to_ne_bytes());
            }
            ADD => registers[to] = registers[to].wrapping_add(constant),
            MODULO => registers[to] %= constant,
            MULTIPLY_BY_REGISTER => registers[to] = registers[to].wrapping_mul(registers[from]),
            XOR_REGISTER => registers[to] ^= registers[from],
            MOVE => registers[to] = constant,
            MOVE_REGISTER => registers[to] = registers[from],
            TO_BIG_ENDIAN => registers[to] = u64::from((registers[to] as u32).to_be()),
            CALL => {
                assert_eq!((immediate, registers[1]), (LOOK_UP, PREFIXES as u64));
                assert_eq!(registers[2], STACK - KEY as u64);
                registers[..6].fill(0xdead_beef);
                registers[0] = if stack == prefix { FOUND } else { 0 };
            }
            EXIT => return registers[0],
            unknown => panic!("operation {unknown:x}"),
        }
    }
}

fn map(shards: u16) -> ShardMap {
    ShardMap::new((0..shards).map(|port| Addr::Ip(([127, 0, 0, 1], port).into()))).unwrap()
}

fn steering(key_at: usize, skip: usize, shards: u16) -> Steering {
    Steering::new(key_at, skip, NonZero::new(shards.into()).unwrap())
}

proptest! {
    #[test]
    fn it_picks_the_shard_of_the_key(
        prefix in any::<[u8; KEY]>(),
        between in prop::collection::vec(any::<u8>(), 0..20),
        key in prop::collection::vec(any::<u8>(), 0..=127),
        behind in prop::collection::vec(any::<u8>(), 0..8),
        skip in 0..10_usize,
        shards in 1..=64_u16,
    ) {
        let code = code(&steering(KEY + between.len(), skip, shards), PREFIXES).unwrap();
        let datagram = [&prefix[..], &between, &[key.len() as u8], &key, &behind].concat();
        let shard = map(shards).skip(skip).shard_of(&key) as u64;
        prop_assert_eq!(run(&code, &datagram, &prefix), 1 + shard);
        let other = prefix.map(|byte| byte.wrapping_add(1));
        prop_assert_eq!(run(&code, &datagram, &other), 0, "a prefix that is not steered");
    }

    #[test]
    fn a_datagram_without_a_whole_key_goes_to_the_listener(
        prefix in any::<[u8; KEY]>(),
        length in 128..=255_u8,
        cut in 0..KEY + 5,
    ) {
        let code = code(&steering(KEY, 0, 6), PREFIXES).unwrap();
        let long = [&prefix[..], &[length], &[7; 255]].concat();
        prop_assert_eq!(run(&code, &long, &prefix), 0, "a key that is too long");
        let whole = [&prefix[..], &[4], b"abcd"].concat();
        prop_assert_eq!(run(&code, &whole[..cut], &prefix), 0);
        prop_assert_ne!(run(&code, &whole, &prefix), 0);
    }
}

#[test]
fn what_no_datagram_holds_is_refused() {
    for (key_at, skip) in [(65_536, 0), (8, 65_536), (usize::MAX, 3), (3, usize::MAX)] {
        assert!(code(&steering(key_at, skip, 6), PREFIXES).is_err());
    }
    assert!(code(&steering(60_000, 1000, 6), PREFIXES).is_ok());
}

#[test]
fn the_kernel_loads_it() {
    let prefixes = match KeySet::new(16) {
        Ok(prefixes) => prefixes,
        Err(error)
            if error.kind() == ErrorKind::PermissionDenied
                && std::env::var("CI").as_deref() != Ok("true") =>
        {
            eprintln!("SKIPPED the_kernel_loads_it: it needs CAP_BPF ({error})");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    for (key_at, skip, shards) in [(8, 0, 1), (12, 4, 6), (40, 126, 1024)] {
        Program::load(&code(&steering(key_at, skip, shards), prefixes.number()).unwrap()).unwrap();
    }
    let unending = Instruction { opcode: MOVE, destination: 0, source: 0, offset: 0, immediate: 0 };
    let error = Program::load(&[unending]).unwrap_err();
    assert!(error.to_string().len() > 20, "the verifier's reason: {error}");
}
