//! The pages of metrics that are being read.

use bertha_core::Error;
use hyper::body::Bytes;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Largest number of pages in memory, each of which may have megabytes.
const PAGES: usize = 4;

/// Time in which a page serves newcomers while there are so many.
const FRESH: Duration = Duration::from_secs(1);

/// The pages that readers have not taken wholly. While they are few, each reader gets one of its own.
#[derive(Debug, Default)]
pub(super) struct Pages(Mutex<VecDeque<Page>>);

#[derive(Debug)]
struct Page {
    text: Weak<Text>,
    made: Instant,
    /// The ends of the connections of its readers, which go with it.
    readers: Vec<oneshot::Sender<Infallible>>,
}

/// The text of a page. A box, so that its memory does not stay with those that know of it.
#[derive(Debug)]
struct Text(Box<[u8]>);

struct Reading(Arc<Text>);

impl AsRef<[u8]> for Reading {
    fn as_ref(&self) -> &[u8] {
        &self.0.0
    }
}

impl Pages {
    /// Returns a page for a reader, whose connection has to end when what `end` returns is dropped. Of many pages the oldest is taken away from its
    /// readers, which had a second at least.
    ///
    /// # Errors
    /// The errors of `make`.
    pub(super) fn read(
        &self,
        now: impl Fn() -> Instant,
        end: impl FnOnce() -> Option<oneshot::Sender<Infallible>>,
        make: impl FnOnce() -> Result<Vec<u8>, Error>,
    ) -> Result<Bytes, Error> {
        // Pages are whole wherever `make` panics.
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|page| page.text.strong_count() > 0);
        if pages.len() >= PAGES {
            if let Some(newest) = pages.back_mut()
                && now().saturating_duration_since(newest.made) < FRESH
                && let Some(text) = newest.text.upgrade()
            {
                newest.readers.extend(end());
                return Ok(Bytes::from_owner(Reading(text)));
            }
            pages.pop_front();
        }
        let text = Arc::new(Text(make()?.into_boxed_slice()));
        // A page that takes long to make is fresh when it is made.
        let page = Page { text: Arc::downgrade(&text), made: now(), readers: end().into_iter().collect() };
        pages.push_back(page);
        Ok(Bytes::from_owner(Reading(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn many_readers_have_few_pages_and_the_oldest_make_room() {
        let (pages, start, made) = (Pages::default(), Instant::now(), Cell::new(0_u8));
        let read = |seconds| {
            let (end, ended) = oneshot::channel();
            let make = || {
                made.set(made.get() + 1);
                Ok(vec![made.get()])
            };
            let page = pages.read(|| start + Duration::from_secs(seconds), || Some(end), make).unwrap();
            (page, ended)
        };
        let mut readers: Vec<_> = (0..22).map(|_| read(0)).collect();
        assert_eq!((made.get(), &readers[21].0[..]), (4, &[4][..]));
        assert!(
            readers.iter_mut().all(|(_, ended)| ended.try_recv() == Err(oneshot::error::TryRecvError::Empty))
        );
        // A second later a newcomer gets a page of its own, for which the oldest goes.
        let late = read(1);
        assert_eq!(late.0[..], [5]);
        let gone = readers
            .iter_mut()
            .map(|(_, ended)| ended.try_recv() == Err(oneshot::error::TryRecvError::Closed));
        assert_eq!(gone.collect::<Vec<_>>().iter().filter(|gone| **gone).count(), 1);
        // Readers that have all that they asked for leave no page behind, and the next has one of its own.
        drop((readers, late));
        let next = [read(1), read(1)].map(|(page, _)| page[0]);
        assert_eq!(next, [6, 7]);
    }
}
