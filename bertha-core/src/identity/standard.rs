//! Identities of the standard library's types that messages are often made of, so that a rule can name them as
//! parameters of a Chunnel: `Serialize<Vec<String>, C>`.
//!
//! Arrays have no identity: rules compare types, not the constants in them.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

bertha_macros::standard_identities! {
    bool, char, f32, f64,
    u8, u16, u32, u64, u128, usize,
    i8, i16, i32, i64, i128, isize,
    String, PathBuf, Duration, SystemTime,
    IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6,
    Option<T>, Result<T, E>, Box<T>, Arc<T>, PhantomData<T>,
    Vec<T>, VecDeque<T>, LinkedList<T>, BinaryHeap<T>, BTreeSet<T>, BTreeMap<K, V>, HashSet<T>, HashMap<K, V>,
    (), (A, B), (A, B, C), (A, B, C, D), (A, B, C, D, E), (A, B, C, D, E, F),
}

#[cfg(test)]
mod tests {
    use super::super::{Bool, Identity, Same};

    /// Returns true if two types are the same, parameters aside: passes compare parameters one by one.
    fn same<A: Identity<Id: Same<B::Id>>, B: Identity>() -> bool {
        <A::Id as Same<B::Id>>::Is::VALUE
    }

    #[test]
    fn standard_types_are_told_apart() {
        assert!(same::<String, String>());
        assert!(!same::<u32, i32>());
        assert!(!same::<(u8, u8), (u8, u8, u8)>());
        assert!(same::<Vec<u8>, Vec<String>>());
    }

    #[test]
    fn names_are_those_of_the_language() {
        assert_eq!(<Vec<u8> as Identity>::NAME, "std::Vec");
        assert_eq!(<(u8, bool) as Identity>::NAME, "std::(,)");
        assert_eq!(<() as Identity>::NAME, "std::()");
    }
}
