//! The tokio runtime of this crate, and how exported calls run on it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::LazyLock;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinHandle};

use crate::core;
use crate::counters::{CountGuard, ObjectKind};
use crate::error::{BowlineError, Result};

/// Worker threads. Sessions are mostly idle, and the host has threads of its own.
const WORKER_THREADS: usize = 2;

static RUNTIME: LazyLock<Result<Runtime, String>> = LazyLock::new(|| {
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(WORKER_THREADS)
        .thread_name("bowline");
    builder.enable_all();
    let built = core::check_threads(WORKER_THREADS).and_then(|()| builder.build());
    built.map_err(|error| error.to_string())
});

fn runtime() -> Result<&'static Runtime> {
    RUNTIME.as_ref().map_err(|error| BowlineError::Internal {
        reason: format!("start the runtime: {error}; raise the thread limit of this process"),
    })
}

/// Runs `body` on the calling thread inside the runtime's context. A panic becomes an error.
pub(crate) fn call<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    let _context = runtime()?.enter();
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panic_error(&*panic)))
}

/// A future of an exported call. In a box, since there is one type for each call: the code that runs it is
/// compiled once for each result instead.
type CallFuture<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// Runs `future` on the runtime. Dropping the returned future aborts it.
pub(crate) fn abortable<T, F>(future: F) -> impl Future<Output = Result<T>> + Send
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    run_abortable(Box::pin(future))
}

/// Runs `future` on the runtime to completion, even if the returned future is dropped.
pub(crate) fn uncancelled<T, F>(future: F) -> impl Future<Output = Result<T>> + Send
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    run_uncancelled(Box::pin(future))
}

async fn run_abortable<T: Send + 'static>(future: CallFuture<T>) -> Result<T> {
    let (task, output) = spawn(future)?;
    let mut task = AbortOnDrop(task);
    let joined = (&mut task.0).await;
    output.take(joined)
}

async fn run_uncancelled<T: Send + 'static>(future: CallFuture<T>) -> Result<T> {
    let (task, output) = spawn(future)?;
    let joined = task.await;
    output.take(joined)
}

/// Runs `future` on the runtime to completion, without a caller that waits for it.
pub(crate) fn background(future: impl Future<Output = ()> + Send + 'static) {
    // An error means that nothing was ever started.
    if let Ok(runtime) = runtime() {
        let task: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(counted(future));
        runtime.spawn(task);
    }
}

/// Runs `future` on the runtime until it ends with what it serves, such as a session. It is no pending call.
pub(crate) fn serving(future: impl Future<Output = ()> + Send + 'static) {
    // An error means that nothing was ever started.
    if let Ok(runtime) = runtime() {
        runtime.spawn(future);
    }
}

/// Blocks the calling thread until `future` completes.
///
/// # Errors
///
/// `Invalid` on a thread of the runtime, such as in a callback: blocking it could deadlock.
pub(crate) fn block_on<T, F>(future: F) -> Result<T>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    if Handle::try_current().is_ok() {
        return Err(BowlineError::invalid(
            "block a thread of the library: call this from a thread of your own",
        ));
    }
    let runtime = runtime()?;
    let body = || runtime.block_on(counted(future));
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panic_error(&*panic)))
}

/// The output of a spawned future. It does not pass through the `JoinHandle`, so that all tasks have
/// one type: tokio instantiates its task code for each future type, and there is one per export.
struct TaskOutput<T>(oneshot::Receiver<Result<T>>);

impl<T> TaskOutput<T> {
    fn take(mut self, joined: Result<(), JoinError>) -> Result<T> {
        joined.map_err(join_error)?;
        self.0.try_recv().unwrap_or_else(|_| {
            Err(BowlineError::Internal {
                reason: "complete the call: its task returned nothing; please report this"
                    .to_owned(),
            })
        })
    }
}

fn spawn<T: Send + 'static>(future: CallFuture<T>) -> Result<(JoinHandle<()>, TaskOutput<T>)> {
    let (sender, output) = oneshot::channel();
    let task: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(counted(async move {
        // The receiver is gone if the caller was cancelled.
        let _ = sender.send(future.await);
    }));
    Ok((runtime()?.spawn(task), TaskOutput(output)))
}

/// Counts a call from now on until its end, which includes the release of a result that no caller takes.
fn counted<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let guard = CountGuard::new(ObjectKind::Call);
    async move {
        let _guard = guard;
        future.await
    }
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs `body` on tokio's blocking pool. A panic is propagated to the caller.
pub(crate) async fn blocking<T: Send + 'static>(
    body: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(body).await {
        Ok(output) => output,
        Err(error) => Err(join_error(error)),
    }
}

fn join_error(error: JoinError) -> BowlineError {
    match error.try_into_panic() {
        Ok(panic) => panic_error(&*panic),
        Err(_) => BowlineError::cancelled(),
    }
}

fn panic_error(panic: &(dyn Any + Send)) -> BowlineError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    BowlineError::Internal {
        reason: format!(
            "complete the call: the library panicked: {}; please report this",
            text.unwrap_or("no message")
        ),
    }
}

/// The value of an exported handle. It is counted while it is alive and dropped inside the
/// runtime's context, since its destructor may spawn tasks.
pub(crate) struct Tracked<T> {
    value: Option<T>,
    _guard: CountGuard,
}

impl<T> Tracked<T> {
    pub(crate) fn new(kind: ObjectKind, value: T) -> Self {
        Self {
            value: Some(value),
            _guard: CountGuard::new(kind),
        }
    }
}

impl<T> std::ops::Deref for Tracked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("only drop takes the value")
    }
}

impl<T> Drop for Tracked<T> {
    fn drop(&mut self) {
        let _context = runtime().map(Runtime::enter);
        self.value = None;
    }
}
