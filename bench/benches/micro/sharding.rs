//! Finding the shard of a key.

use bertha_chunnels::ShardMap;
use bertha_core::Addr;
use criterion::Criterion;
use std::hint::black_box;

pub(crate) fn all(criterion: &mut Criterion) {
    let addresses = (0..12).map(|shard| Addr::from(([127, 0, 0, 1], 4242 + shard)));
    let map = ShardMap::new(addresses).unwrap().skip(4);
    criterion.bench_function("shard of a key", |bencher| {
        bencher.iter(|| black_box(&map).shard_of(black_box(b"user4242")));
    });
}
