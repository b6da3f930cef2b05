package dev.bowline

/**
 * The entry point of the library.
 *
 * ```kotlin
 * val engine = Bowline.engine()
 * engine.start(DialogueConfiguration(cwd = "/some/project")).use { session ->
 *     session.send("What is in this folder?")
 *     session.transcripts().collect { println(it.phase) }
 * }
 * ```
 *
 * Every function may be called from any thread. Functions that wait are `suspend` functions; cancelling
 * the coroutine ends the call in the library as well. Objects are [AutoCloseable]: `use` releases them
 * at once, the garbage collector eventually. Releasing the last handle of a session terminates a local
 * agent and detaches from one at a runner; see [DialogueSession].
 */
public object Bowline {
    /** The API revision that these sources were generated for. */
    private const val API_REVISION: UInt = 21u

    /** The first failure is kept: later uses of the library would only say that there was one. */
    private val initialized: Result<Unit> by lazy { runCatching { initialize() } }

    /**
     * Creates an engine, which starts sessions.
     *
     * @param program the agent's path, or a name to look up in `PATH`; `claude` if null.
     * @param guard the path of `bowline`, run as a guard that terminates sessions if the host is killed; if
     *   null, see [EngineConfiguration.guard].
     * @throws BowlineException.Internal if the native library is missing, or has another version than these sources.
     */
    @JvmStatic
    @JvmOverloads
    public fun engine(program: String? = null, guard: String? = null): Engine {
        initialized.getOrThrow()
        return Engine(EngineConfiguration(program, guard))
    }

    /**
     * Delivers the library's log lines up to [level] to [sink], which replaces an earlier one.
     *
     * [sink] is called on one daemon thread of the library, in order. Exceptions that it throws are
     * ignored.
     *
     * @throws BowlineException.Busy if the process has its own log of the library.
     */
    public fun log(level: LogLevel, sink: (LogLine) -> Unit) {
        initialized.getOrThrow()
        setLogging(level, object : LogSink {
            override fun log(line: LogLine) = sink(line)
        })
    }

    /** Stops the delivery that [log] started. */
    public fun stopLogging() {
        initialized.getOrThrow()
        setLogging(LogLevel.OFF, null)
    }

    /** Returns the counts of live objects of the library. All are 0 once the host has released everything. */
    public fun counters(): LiveCounters {
        initialized.getOrThrow()
        return liveCounters()
    }

    private fun initialize() {
        try {
            checkRevision(apiRevision())
            // The generated sources compare their checksums only when asked to.
            uniffiEnsureInitialized()
        } catch (error: LinkageError) {
            throw unusable(error.message.orEmpty().lineSequence().first())
        } catch (error: RuntimeException) {
            throw unusable(error.message.orEmpty())
        }
    }

    /** Throws unless these sources were generated for the revision [found]. */
    internal fun checkRevision(found: UInt) {
        if (found != API_REVISION) throw unusable("it has API revision $found, not $API_REVISION")
    }

    private fun unusable(why: String) = BowlineException.Internal(
        "load the native library: $why; use the jar of this platform, or name the folder of this version's library with -Djna.library.path",
    )
}
