//! Telling everything that belongs to a server to end.

use tokio::sync::watch;

/// Ends the tasks that have [subscribed](Self::subscribe), when told to or when dropped.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Waits for a [`Stopper`]. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stopper {
    /// One that has not been told yet.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// The signal for one of the tasks and threads that are to end.
    pub fn subscribe(&self) -> Stop {
        Stop(self.0.subscribe())
    }

    /// Tells them.
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
    /// Ready once it is time to end.
    pub async fn wait(&mut self) {
        // An error says that the stopper is gone, which is as good a reason.
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}
