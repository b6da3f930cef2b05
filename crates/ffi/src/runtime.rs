//! Where the work runs, and how calls from outside get there and back.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::{JoinError, JoinHandle};

use crate::counters::{Kind, Live};
use crate::error::{BowlineError, Outcome};

/// Threads that run tasks: sessions wait nearly all the time, and a host has threads of its own.
const WORKERS: usize = 2;

static RUNTIME: LazyLock<Result<Runtime, String>> = LazyLock::new(|| {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(WORKERS).thread_name("bowline");
    builder.enable_all();
    let built = crate::core::check_threads(WORKERS).and_then(|()| builder.build());
    built.map_err(|it| it.to_string())
});

pub(crate) fn runtime() -> Outcome<&'static Runtime> {
    RUNTIME.as_ref().map_err(|error| BowlineError::Internal {
        reason: format!("start the runtime: {error}, check the limit of threads"),
    })
}

/// Runs a short call on the caller's thread, with the runtime at hand.
pub(crate) fn call<T>(body: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    let _entered = runtime()?.enter();
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// Waits for something in the runtime. When the caller gives up, the waiting ends.
pub(crate) async fn wait<T, F>(future: F) -> Outcome<T>
where
    T: Send + 'static,
    F: Future<Output = Outcome<T>> + Send + 'static,
{
    let (task, outcome) = spawn(future)?;
    let mut task = AbortOnDrop(task);
    let done = (&mut task.0).await;
    outcome.after(done)
}

/// Does something in the runtime, to its end, whether the caller waits for it or not.
pub(crate) async fn finish<T, F>(future: F) -> Outcome<T>
where
    T: Send + 'static,
    F: Future<Output = Outcome<T>> + Send + 'static,
{
    let (task, outcome) = spawn(future)?;
    let done = task.await;
    outcome.after(done)
}

/// Blocks a thread of the host's.
///
/// # Errors
///
/// The thread is one of the runtime's own, as in a callback: others would wait for it.
pub(crate) fn block<T, F>(future: F) -> Outcome<T>
where
    T: Send + 'static,
    F: Future<Output = Outcome<T>> + Send + 'static,
{
    if Handle::try_current().is_ok() {
        return Err(BowlineError::invalid(
            "wait: this is a thread of the library, wait in one of your own",
        ));
    }
    let runtime = runtime()?;
    let body = || runtime.block_on(counted(future));
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// Where a task leaves what came of it. All tasks are of one type, since the machinery around a
/// task is made anew for each type, and there are as many as exports.
struct Left<T>(Arc<Mutex<Option<T>>>);

impl<T> Left<Outcome<T>> {
    fn after(self, done: Result<(), JoinError>) -> Outcome<T> {
        done.map_err(lost)?;
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.take().unwrap_or_else(|| {
            Err(BowlineError::Internal {
                reason: "go on: a task left nothing, please report it".to_owned(),
            })
        })
    }
}

fn spawn<T, F>(future: F) -> Outcome<(JoinHandle<()>, Left<Outcome<T>>)>
where
    T: Send + 'static,
    F: Future<Output = Outcome<T>> + Send + 'static,
{
    let left = Arc::new(Mutex::new(None));
    let leave = Arc::clone(&left);
    let task: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
        let outcome = counted(future).await;
        *leave.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    });
    Ok((runtime()?.spawn(task), Left(left)))
}

async fn counted<F: Future>(future: F) -> F::Output {
    let _live = Live::new(Kind::Call);
    future.await
}

/// A task that does not outlive whoever waits for it.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn lost(error: JoinError) -> BowlineError {
    match error.try_into_panic() {
        Ok(panic) => panicked(&*panic),
        Err(_) => BowlineError::Cancelled {
            reason: "wait: the call was given up, ask again".to_owned(),
        },
    }
}

fn panicked(panic: &(dyn Any + Send)) -> BowlineError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    BowlineError::Internal {
        reason: format!(
            "go on: a fault in the library, {}, please report it",
            text.unwrap_or("without a word")
        ),
    }
}

/// A value whose drop may start work in the runtime, and that is counted while it lives.
pub(crate) struct Held<T> {
    value: Option<T>,
    _live: Live,
}

impl<T> Held<T> {
    pub(crate) fn new(kind: Kind, value: T) -> Self {
        Self {
            value: Some(value),
            _live: Live::new(kind),
        }
    }
}

impl<T> std::ops::Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("only drop takes it")
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        let _entered = runtime().map(Runtime::enter);
        self.value = None;
    }
}
