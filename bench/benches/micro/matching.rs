//! The server's work for one offer: reading it, and finding a stack.

use bertha_core::{LayerInfo, Node};
use bertha_negotiation::testing::handshake::find;
use bertha_negotiation::testing::wire::{self, Kind, Offer, Tag};
use criterion::Criterion;
use std::hint::black_box;

const ID: u64 = 7;

const NAMES: [&str; 32] = [
    "app::A0", "app::A1", "app::A2", "app::A3", "app::A4", "app::A5", "app::A6", "app::A7", "app::A8",
    "app::A9", "app::A10", "app::A11", "app::A12", "app::A13", "app::A14", "app::A15", "app::B0", "app::B1",
    "app::B2", "app::B3", "app::B4", "app::B5", "app::B6", "app::B7", "app::B8", "app::B9", "app::B10",
    "app::B11", "app::B12", "app::B13", "app::B14", "app::B15",
];

/// Makes sixteen choices between two Chunnels each. If `swapped` is true, they prefer the second Chunnel.
fn choices(swapped: bool) -> Vec<Node> {
    let (first, second) = NAMES.split_at(16);
    let layer = |name: &&'static str| vec![Node::Layer(LayerInfo::plain(name, 1))];
    let choice = |(one, other)| Node::Select {
        branches: [layer(one), layer(other)],
        prefer: u8::from(swapped).into(),
    };
    first.iter().zip(second).map(choice).collect()
}

pub(crate) fn all(criterion: &mut Criterion) {
    let (client, server) = (choices(true), choices(false));
    let mut group = criterion.benchmark_group("an offer of 16 choices");
    let encode = || {
        let offer = Offer::new(ID, black_box(&client)).unwrap();
        wire::encode(Kind::Offer, Tag::of(ID), &offer).unwrap()
    };
    group.bench_function("encode", |bencher| bencher.iter(encode));
    let encoded = encode();
    group.bench_function(format!("decode {} bytes", encoded.len()), |bencher| {
        bencher.iter(|| wire::decode::<Offer>(black_box(&encoded)).unwrap().nodes().unwrap());
    });
    let offered = wire::decode::<Offer>(&encoded).unwrap().nodes().unwrap();
    group.bench_function("match", |bencher| {
        bencher.iter(|| find(black_box(&offered), black_box(&server)).unwrap());
    });
    let mut refusing = choices(false);
    refusing.push(Node::Layer(LayerInfo::plain("app::Missing", 1)));
    group.bench_function("refuse", |bencher| {
        bencher.iter(|| find(black_box(&offered), black_box(&refusing)).unwrap_err());
    });
    group.finish();
}
