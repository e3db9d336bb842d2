//! The table of descriptors.

use crate::Table;

#[test]
fn descriptors_have_one_place_at_most() {
    let table = Table::<8>::new();
    assert!(table.set(3, 5) && table.set(7, 0) && !table.set(8, 1) && !table.set(-1, 1));
    assert_eq!(
        (table.get(3), table.get(7), table.get(0), table.get(-1), table.get(8)),
        (Some(5), Some(0), None, None, None)
    );
    assert_eq!(table.iter(8).collect::<Vec<_>>(), [(3, 5), (7, 0)]);
    assert_eq!((table.take(3), table.take(3), table.take(-1)), (Some(5), None, None));
}
