//! A request and its answer.

use serde::{Deserialize, Serialize};

/// A customer's items. A service adds what it knows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Message {
    /// Of which customer.
    pub customer: u64,
    /// The content of the cart.
    pub items: Vec<Item>,
}

/// An item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The product.
    pub product: u32,
    /// How many of it.
    pub count: u32,
    /// Cents for one, once that is known.
    pub price: Option<u64>,
}
