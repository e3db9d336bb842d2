//! Circles among the modules of one level.

use crate::module_circles::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

type Graph = BTreeMap<usize, BTreeSet<usize>>;

/// Returns the circles, each with the module that it lies in. The uses of a module count for the modules
/// above it too.
pub(crate) fn find(tree: &Tree, uses: &[BTreeSet<usize>]) -> Vec<String> {
    // A use counts in the module that both modules lie in, between its children.
    let mut levels: BTreeMap<usize, Graph> = BTreeMap::new();
    for (from, targets) in uses.iter().enumerate() {
        for to in targets {
            let (from, to) = (tree.line(from), tree.line(*to));
            let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if let (Some(a), Some(b)) = (from.get(common), to.get(common)) {
                levels.entry(from[common - 1]).or_default().entry(*a).or_default().insert(*b);
            }
        }
    }
    let mut found = Vec::new();
    for (level, graph) in &levels {
        for circle in strongly_connected(graph) {
            let mut names: Vec<_> = circle.iter().map(|at| tree.modules[*at].name.as_str()).collect();
            names.sort_unstable();
            found.push(format!("{}: {}", tree.path(*level), names.join(", ")));
        }
    }
    found.sort();
    found
}

/// Returns the sets of two modules or more that reach each other.
fn strongly_connected(graph: &Graph) -> BTreeSet<BTreeSet<usize>> {
    let reached: BTreeMap<usize, BTreeSet<usize>> =
        graph.keys().map(|from| (*from, reachable(graph, *from))).collect();
    let with = |from: usize| {
        let reach_back = |to: &usize| reached.get(to).is_some_and(|back| back.contains(&from));
        reached[&from].iter().copied().filter(reach_back).collect::<BTreeSet<_>>()
    };
    graph.keys().map(|from| with(*from)).filter(|circle| circle.len() > 1).collect()
}

fn reachable(graph: &Graph, from: usize) -> BTreeSet<usize> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(at) = next.pop() {
        for to in graph.get(&at).into_iter().flatten() {
            if reached.insert(*to) {
                next.push(*to);
            }
        }
    }
    reached
}
