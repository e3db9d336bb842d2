//! A request and its answer.

use serde::{Deserialize, Serialize};

/// A customer's items. Each service adds its knowledge.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Message {
    /// Number of the customer.
    pub customer: u64,
    /// The content of the cart.
    pub items: Vec<Item>,
}

/// An item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The product.
    pub product: u32,
    /// Number of pieces of the product.
    pub count: u32,
    /// Price of a piece in cents, once it is known.
    pub price: Option<u64>,
}
