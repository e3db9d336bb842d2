//! The pattern of a rule, and its match at the top of a stack.

use crate::identity::{Bool, False, Reserved, Same, True, kind};
use crate::{Bottom, Identity, Stack};
use std::marker::PhantomData;

/// In a pattern, any type: `Serialize<Anything, Anything>` matches every `Serialize`.
// The derives are for Chunnels that ask for them in their declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anything {}

/// In a pattern, any number of elements, none included. A Chunnel follows.
#[derive(Debug)]
pub enum Gap {}

/// In a pattern, the end of the stack: no element may follow.
#[derive(Debug)]
pub enum End {}

macro_rules! reserved {
    ($($type:ident)*) => {
        $(impl Identity for $type {
            type Id = Reserved;
            type Parameters = ();
            type Guarantees = ();
            type Kind = kind::$type;
            const NAME: &'static str = "*";
        })*
    };
}

reserved!(Anything Gap);

/// A sequence of Chunnels, as types.
///
/// Written as a [`Segment`] of nested pairs: `Segment<(Pad, (Checksum, ()))>` is a `Pad` directly above a `Checksum`.
pub trait Pattern {
    /// The elements, top first, ended by `()`, or by [`End`] if they must stand at the bottom.
    type Items: Names;

    /// True if the elements must stand at the top of the whole stack.
    type AtTop: Bool;

    /// True if the elements must stand at the bottom of the whole stack.
    type AtBottom: Bool;
}

/// The [`Pattern`] of the elements `Items`. It matches anywhere, unless `AtTop` or `AtBottom` is [`True`].
#[derive(Debug)]
pub struct Segment<Items, AtTop = False, AtBottom = False>(PhantomData<(Items, AtTop, AtBottom)>);

impl<Items: Names, AtTop: Bool, AtBottom: Bool> Pattern for Segment<Items, AtTop, AtBottom> {
    type Items = Items;
    type AtTop = AtTop;
    type AtBottom = AtBottom;
}

/// The names of a pattern's elements.
#[doc(hidden)]
pub trait Names {
    /// Appends the names.
    fn names(into: &mut Vec<&'static str>);
}

impl Names for () {
    fn names(_: &mut Vec<&'static str>) {}
}

impl Names for End {
    fn names(_: &mut Vec<&'static str>) {}
}

impl<First, Rest> Names for (First, Rest)
where
    First: Identity<Kind: Element<First>, Parameters: Comparable>,
    Rest: Names,
{
    fn names(into: &mut Vec<&'static str>) {
        into.push(First::NAME);
        Rest::names(into);
    }
}

/// Implemented if `Item`, which is of this kind, can be an element of a pattern.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Item}` is not a Chunnel",
    label = "a pattern is made of Chunnels",
    note = "a parameter of a Chunnel stands within its brackets: `Chunnel<{Item}>`"
)]
pub trait Element<Item> {}

#[diagnostic::do_not_recommend]
impl<Item> Element<Item> for kind::Layer {}

#[diagnostic::do_not_recommend]
impl<Item> Element<Item> for kind::Gap {}

/// Parameters of an item, all of which have an identity, and whose own parameters have identities.
#[doc(hidden)]
pub trait Comparable {}

impl Comparable for () {}

impl<Type: Identity<Parameters: Comparable>, Types: Comparable> Comparable for (Type, Types) {}

/// A list. [`Is`](Self::Is) is true if it begins with the elements `Items`.
#[doc(hidden)]
pub trait Matches<Items> {
    /// True if the list begins with `Items`.
    type Is: Bool;
}

impl<List> Matches<()> for List {
    type Is = True;
}

impl Matches<End> for Bottom {
    type Is = True;
}

impl<Head, Tail> Matches<End> for Stack<Head, Tail> {
    type Is = False;
}

impl<List, Item, Items> Matches<(Item, Items)> for List
where
    Item: Identity,
    List: Begins<Item, Items, Item::Kind>,
{
    type Is = List::Is;
}

/// [`Matches`], by the kind of the first item.
#[doc(hidden)]
pub trait Begins<Item, Items, Kind> {
    /// True if the list begins with `Item` and `Items`.
    type Is: Bool;
}

impl<Item, Items> Begins<Item, Items, kind::Layer> for Bottom {
    type Is = False;
}

impl<Head, Tail, Item, Items> Begins<Item, Items, kind::Layer> for Stack<Head, Tail>
where
    Head: Fulfils<Item>,
    Tail: MatchesIf<Head::Is, Items>,
{
    type Is = Tail::Is;
}

/// [`Matches`], evaluated only if `So` is true.
#[doc(hidden)]
pub trait MatchesIf<So, Items> {
    /// True if the list begins with `Items` and `So` is true.
    type Is: Bool;
}

impl<List, Items> MatchesIf<False, Items> for List {
    type Is = False;
}

impl<List: Matches<Items>, Items> MatchesIf<True, Items> for List {
    type Is = List::Is;
}

// A gap: either the items behind it begin here, or it takes one more element.
impl<List, Next, Items> Begins<Gap, (Next, Items), kind::Gap> for List
where
    // The next item is matched as a Chunnel, and has to be a Chunnel: for a type that is no rule the compiler
    // would take gap after gap.
    List: Begins<Next, Items, kind::Layer>,
    List: Skips<(Next, Items), <List as Begins<Next, Items, kind::Layer>>::Is>,
{
    type Is = List::Found;
}

/// A list. [`Found`](Self::Found) is true if `Items` begin somewhere in it, given `Here`, the answer for its
/// top.
#[doc(hidden)]
pub trait Skips<Items, Here> {
    /// True if the items begin somewhere in the list.
    type Found: Bool;
}

impl<List, Items> Skips<Items, True> for List {
    type Found = True;
}

impl<Items> Skips<Items, False> for Bottom {
    type Found = False;
}

impl<Head, Tail, Items> Skips<Items, False> for Stack<Head, Tail>
where
    Tail: Matches<Items>,
    Tail: Skips<Items, <Tail as Matches<Items>>::Is>,
{
    type Found = Tail::Found;
}

/// A type. [`Is`](Self::Is) is true if it is the same type as `Item`, with parameters that fulfil the item's
/// parameters.
#[doc(hidden)]
pub trait Fulfils<Item> {
    /// True if the type fulfils the item.
    type Is: Bool;
}

impl<Type, Item> Fulfils<Item> for Type
where
    Type: Identity,
    Item: Identity,
    Type::Id: Same<Item::Id>,
    Type::Parameters: AllIf<<Type::Id as Same<Item::Id>>::Is, Item::Parameters>,
{
    type Is = <Type::Parameters as AllIf<<Type::Id as Same<Item::Id>>::Is, Item::Parameters>>::Is;
}

/// Parameters. [`Is`](Self::Is) is true if they fulfil `Items`; evaluated only if `So` is true: if both are
/// parameters of the same type.
#[doc(hidden)]
pub trait AllIf<So, Items> {
    /// True if all parameters fulfil their items and `So` is true.
    type Is: Bool;
}

impl<Parameters, Items> AllIf<False, Items> for Parameters {
    type Is = False;
}

impl AllIf<True, ()> for () {
    type Is = True;
}

impl<Type, Types, Item, Items> AllIf<True, (Item, Items)> for (Type, Types)
where
    Item: Identity,
    Type: FulfilsUnless<<Item::Kind as kind::Kind>::IsAnything, Item>,
    Types: AllIf<Type::Is, Items>,
{
    type Is = Types::Is;
}

/// [`Fulfils`], unless the item is [`Anything`]: then the type needs no identity.
#[doc(hidden)]
pub trait FulfilsUnless<Anything, Item> {
    /// True if the type fulfils the item, or the item is [`Anything`].
    type Is: Bool;
}

impl<Type, Item> FulfilsUnless<True, Item> for Type {
    type Is = True;
}

impl<Type: Fulfils<Item>, Item> FulfilsUnless<False, Item> for Type {
    type Is = Type::Is;
}
