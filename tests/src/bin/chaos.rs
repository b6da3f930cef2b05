//! Command-line front end of the fault-injecting proxy: `chaos --to ADDRESS [--seed N] [--fault
//! KIND]… [--after BYTES] [--cut-every MILLISECONDS]`. Prints the address to connect to, then the
//! fault of each connection.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use bowline_tests::chaos::{Address, ChaosProxy, Fault, Faults};

struct Wanted {
    to: Address,
    seed: u64,
    faults: Faults,
    cut_every: Option<Duration>,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let done = read(std::env::args().skip(1)).and_then(|wanted| {
        runtime
            .map_err(|error| error.to_string())?
            .block_on(run(wanted))
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr().lock(), "chaos: {error}");
            ExitCode::from(2)
        }
    }
}

fn read(mut words: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let (mut to, mut seed, mut cut_every) = (None, 1, None);
    let (mut kinds, mut after) = (Vec::new(), None);
    while let Some(word) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| format!("{word} needs a value"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{word} needs a number"))
        };
        match word.as_str() {
            "--to" => to = Some(address(&value)?),
            "--seed" => seed = number()?,
            "--fault" => kinds.push(value.parse::<Fault>()?),
            "--after" => after = Some(number()?),
            "--cut-every" => cut_every = Some(Duration::from_millis(number()?)),
            _ => return Err(format!("unknown argument {word}")),
        }
    }
    let mut faults = Faults::default();
    if !kinds.is_empty() {
        faults.kinds = kinds;
    }
    if let Some(after) = after {
        faults.after = 0..after.max(1);
    }
    let to = to.ok_or("--to is needed: HOST:PORT or unix:PATH")?;
    Ok(Wanted {
        to,
        seed,
        faults,
        cut_every,
    })
}

fn address(text: &str) -> Result<Address, String> {
    match text.strip_prefix("unix:") {
        Some(path) => Ok(Address::Unix(path.into())),
        None => text
            .parse()
            .map(Address::Tcp)
            .map_err(|_| format!("{text:?} is neither HOST:PORT nor unix:PATH")),
    }
}

async fn run(wanted: Wanted) -> Result<(), String> {
    let proxy = ChaosProxy::start(wanted.to, wanted.seed, wanted.faults)
        .await
        .map_err(|error| error.to_string())?;
    if wanted.cut_every.is_some() {
        proxy.be_kind();
    }
    print(&format!(
        "listening on {}, seed {}",
        proxy.address(),
        wanted.seed
    ))?;
    let mut reported = 0;
    // Only a signal ends this.
    loop {
        tokio::time::sleep(wanted.cut_every.unwrap_or(Duration::from_millis(100))).await;
        if wanted.cut_every.is_some() {
            proxy.cut_all();
        }
        let met = proxy.met();
        for one in met.iter().skip(reported) {
            print(&one.to_string())?;
        }
        reported = met.len();
    }
}

fn print(line: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| error.to_string())
}
