//! Splits the Chunnels that matched from the rest of a stack.

use super::pattern::{End, Gap, Matches};
use crate::identity::{False, True, kind};
use crate::{Bottom, Identity, Stack};

/// A list that begins with `Items`, split into those items and the rest.
#[doc(hidden)]
pub trait Split<Items> {
    /// The Chunnels that matched, as nested pairs.
    type Captured;
    /// The stack below them.
    type Rest;

    fn split(self) -> (Self::Captured, Self::Rest);
}

impl<List> Split<()> for List {
    type Captured = ();
    type Rest = List;

    fn split(self) -> ((), List) {
        ((), self)
    }
}

impl Split<End> for Bottom {
    type Captured = ();
    type Rest = Bottom;

    fn split(self) -> ((), Bottom) {
        ((), self)
    }
}

impl<List, Item, Items> Split<(Item, Items)> for List
where
    Item: Identity,
    List: SplitFirst<Item, Items, Item::Kind>,
{
    type Captured = List::Captured;
    type Rest = List::Rest;

    fn split(self) -> (Self::Captured, Self::Rest) {
        self.split_first()
    }
}

/// [`Split`], by the kind of the first item.
#[doc(hidden)]
pub trait SplitFirst<Item, Items, Kind> {
    type Captured;
    type Rest;

    fn split_first(self) -> (Self::Captured, Self::Rest);
}

impl<Head, Tail: Split<Items>, Item, Items> SplitFirst<Item, Items, kind::Layer> for Stack<Head, Tail> {
    type Captured = (Head, Tail::Captured);
    type Rest = Tail::Rest;

    fn split_first(self) -> (Self::Captured, Self::Rest) {
        let (head, tail) = self.into_parts();
        let (captured, rest) = tail.split();
        ((head, captured), rest)
    }
}

impl<List, Items> SplitFirst<Gap, Items, kind::Gap> for List
where
    List: Matches<Items>,
    List: SplitGap<Items, <List as Matches<Items>>::Is>,
{
    type Captured = (List::Skipped, List::Captured);
    type Rest = List::Rest;

    fn split_first(self) -> (Self::Captured, Self::Rest) {
        let (skipped, captured, rest) = self.split_gap();
        ((skipped, captured), rest)
    }
}

/// A list in which `Items` begin after some other elements, given the answer whether they begin at its top.
#[doc(hidden)]
pub trait SplitGap<Items, Here> {
    /// The elements before `Items`, as a stack.
    type Skipped;
    type Captured;
    type Rest;

    fn split_gap(self) -> (Self::Skipped, Self::Captured, Self::Rest);
}

impl<List: Split<Items>, Items> SplitGap<Items, True> for List {
    type Skipped = Bottom;
    type Captured = List::Captured;
    type Rest = List::Rest;

    fn split_gap(self) -> (Bottom, Self::Captured, Self::Rest) {
        let (captured, rest) = self.split();
        (Bottom, captured, rest)
    }
}

impl<Head, Tail, Items> SplitGap<Items, False> for Stack<Head, Tail>
where
    Tail: Matches<Items>,
    Tail: SplitGap<Items, <Tail as Matches<Items>>::Is>,
{
    type Skipped = Stack<Head, Tail::Skipped>;
    type Captured = Tail::Captured;
    type Rest = Tail::Rest;

    fn split_gap(self) -> (Self::Skipped, Self::Captured, Self::Rest) {
        let (head, tail) = self.into_parts();
        let (skipped, captured, rest) = tail.split_gap();
        (Stack::from_parts(head, skipped), captured, rest)
    }
}
