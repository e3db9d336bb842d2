//! The signal that makes all parts of a server end.

use tokio::sync::watch;

/// A switch that ends the tasks that have [subscribed](Self::subscribe), when [`stop`](Self::stop) is called
/// or the value is dropped.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// A signal of a [`Stopper`]. Clones are cheap.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stopper {
    /// Creates a stopper that has not stopped yet.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Returns the signal for a task or thread that has to end.
    pub fn subscribe(&self) -> Stop {
        Stop(self.0.subscribe())
    }

    /// Signals all subscribers.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Default for Stopper {
    fn default() -> Self {
        Self::new()
    }
}

impl Stop {
    /// Waits until the task has to end.
    pub async fn wait(&mut self) {
        // An error means that the stopper is gone, which is a reason to end as well.
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}
