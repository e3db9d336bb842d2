//! The services.

use crate::{Call, Handler, Item, Message};
use std::sync::Arc;

/// Returns the service that answers with the request.
pub fn echo() -> Handler {
    Arc::new(|request| Box::pin(async { Ok(request) }))
}

/// Returns the service that knows the items of each customer, though not their prices.
pub fn cart() -> Handler {
    Arc::new(|Message { customer, .. }| {
        let items = (0..3).map(move |number| Item {
            product: (customer % 100) as u32 + number,
            count: 1,
            price: None,
        });
        Box::pin(async move { Ok(Message { customer, items: items.collect() }) })
    })
}

/// Returns the service that knows the price of each product.
pub fn price() -> Handler {
    Arc::new(|mut request| {
        for item in &mut request.items {
            item.price = Some(u64::from(item.product) * 100 + 99);
        }
        Box::pin(async { Ok(request) })
    })
}

/// Returns the service that asks cart, and then price.
pub fn front(cart: Call, price: Call) -> Handler {
    Arc::new(move |request| {
        let cart = cart.clone();
        let price = price.clone();
        Box::pin(async move { price.ask(cart.ask(request).await?).await })
    })
}
