package dev.bowline

import com.sun.jna.Callback
import com.sun.jna.CallbackThreadInitializer
import com.sun.jna.Native

/**
 * The way in.
 *
 * ```kotlin
 * val engine = Bowline.engine()
 * engine.start(DialogueConfiguration(cwd = "/some/project")).use { session ->
 *     session.say("What is in this folder?")
 *     session.transcripts().collect { println(it.phase) }
 * }
 * ```
 *
 * Everything may be called from any thread. What waits is a `suspend` function; when its coroutine
 * is cancelled, the waiting ends inside of the library too. Objects are [AutoCloseable]: `use` lets
 * go of them at once, and the garbage collector sooner or later.
 */
public object Bowline {
    /** The revision of the surface that these sources were generated for. */
    private const val REVISION: UInt = 4u

    private val ready: Unit by lazy { initialize() }

    /**
     * An engine, which makes sessions.
     *
     * @param program the agent, a name that is looked up in `PATH` or a path; `claude` when absent.
     * @param guard a program that ends sessions if the host is killed: `bowline`, as a path.
     * @throws IllegalStateException when the native library is another version than these sources.
     */
    public fun engine(program: String? = null, guard: String? = null): Engine {
        ready
        return Engine(EngineConfiguration(program, guard))
    }

    /** Hands log lines of this level and graver ones to [sink], from one thread and in order. */
    public fun log(level: LogLevel, sink: (LogLine) -> Unit) {
        ready
        setLogging(level, object : LogSink {
            override fun log(line: LogLine) = sink(line)
        })
    }

    /** Ends what [log] began. */
    public fun stopLogging() {
        ready
        setLogging(LogLevel.OFF, null)
    }

    /** What lives inside of the library: everything is 0 when a host has let go of all that it had. */
    public fun counters(): LiveCounters {
        ready
        return liveCounters()
    }

    private fun initialize() {
        keepDaemons()
        // The generated sources do not compare their checksums by themselves.
        uniffiEnsureInitialized()
        val found = apiRevision()
        check(found == REVISION) {
            "the native library has revision $found of the surface and not $REVISION: use the one of this jar"
        }
    }

    /**
     * Threads of the library that call the JVM stay attached, as daemons: attaching one for each
     * call makes thousands of thread objects, and without the daemon flag the JVM would never exit.
     */
    private fun keepDaemons() {
        val callbacks: List<Callback> = listOf(
            uniffiRustFutureContinuationCallbackImpl,
            uniffiCallbackInterfaceHostTerminal.startCommand,
            uniffiCallbackInterfaceHostTerminal.endCommand,
            uniffiCallbackInterfaceHostTerminal.cleanup,
            uniffiCallbackInterfaceHostTerminal.uniffiFree,
            uniffiCallbackInterfaceHostTerminal.uniffiClone,
            uniffiCallbackInterfaceLogSink.log,
            uniffiCallbackInterfaceLogSink.uniffiFree,
            uniffiCallbackInterfaceLogSink.uniffiClone,
            uniffiCallbackInterfaceTokenProvider.token,
            uniffiCallbackInterfaceTokenProvider.uniffiFree,
            uniffiCallbackInterfaceTokenProvider.uniffiClone,
        )
        for (callback in callbacks) {
            Native.setCallbackThreadInitializer(callback, CallbackThreadInitializer(true, false, "bowline"))
        }
    }
}
