//! The mappings of the process, of which the system has a bound.

use std::fs::read_to_string;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bound where the system does not tell, which is Linux's.
const USUAL: usize = 65_530;

/// Number of mappings that an application takes at most before its heaps have grown: two spans with their sides, and a queue.
const FIRST: usize = 8;

/// The mappings that applications take. Clones are the same.
///
/// Applications get three quarters of what the system gives: the rest is for the memory and the threads of the daemon, which would end
/// without.
#[derive(Debug, Clone)]
pub(crate) struct Mappings {
    taken: Arc<AtomicUsize>,
    most: usize,
}

/// The mappings of an application.
#[derive(Debug)]
pub(crate) struct Mapped {
    of: Mappings,
    count: AtomicUsize,
}

impl Mappings {
    /// Reads the bound of the system.
    pub(crate) fn of_system() -> Self {
        let bound =
            read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|text| text.trim().parse().ok());
        Self::new(bound.unwrap_or(USUAL) / 4 * 3)
    }

    fn new(most: usize) -> Self {
        Self { taken: Arc::default(), most }
    }

    /// Takes the first mappings of an application. Returns `None` if too many are taken.
    pub(crate) fn attach(&self) -> Option<Mapped> {
        let mapped = Mapped { of: self.clone(), count: AtomicUsize::new(0) };
        mapped.take(FIRST).then_some(mapped)
    }
}

impl Mapped {
    /// Takes a mapping for another region, which `map` maps. It comes back if that fails.
    ///
    /// # Errors
    /// Fails if too many are taken, and with the errors of `map`.
    pub(crate) fn grow(&self, map: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if !self.take(1) {
            return Err(io::Error::other("there are too many mappings"));
        }
        map().inspect_err(|_| {
            self.count.fetch_sub(1, Ordering::Relaxed);
            self.of.taken.fetch_sub(1, Ordering::Relaxed);
        })
    }

    fn take(&self, count: usize) -> bool {
        let Mappings { taken, most } = &self.of;
        // What is taken too many at the same moment is given back, and harms nobody.
        if taken.fetch_add(count, Ordering::Relaxed) + count > *most {
            taken.fetch_sub(count, Ordering::Relaxed);
            return false;
        }
        self.count.fetch_add(count, Ordering::Relaxed);
        true
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.of.taken.fetch_sub(*self.count.get_mut(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_application_took_comes_back_with_it() {
        let mappings = Mappings::new(2 * FIRST + 3);
        let [one, two] = [mappings.attach().unwrap(), mappings.attach().unwrap()];
        assert!(mappings.attach().is_none());
        let fails = || Err(io::ErrorKind::OutOfMemory.into());
        assert!((0..5).all(|_| one.grow(fails).is_err()), "what is not mapped is not taken");
        assert_eq!((0..5).filter(|_| one.grow(|| Ok(())).is_ok()).count(), 3);
        assert!(two.grow(|| Ok(())).is_err());
        drop(one);
        assert!(two.grow(|| Ok(())).is_ok() && mappings.attach().is_some());
    }
}
