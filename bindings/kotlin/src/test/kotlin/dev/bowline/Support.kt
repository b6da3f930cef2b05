package dev.bowline

import java.lang.management.ManagementFactory
import java.nio.file.Files
import java.nio.file.Path
import java.security.MessageDigest
import java.util.concurrent.atomic.AtomicInteger
import javax.management.ObjectName
import kotlin.io.path.absolutePathString
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.TimeSource
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.Assertions.fail

/** The directory of the programs that cargo has built. */
val programs: Path by lazy {
    Path.of(System.getProperty("bowline.programs")).toAbsolutePath().normalize().also(::requirePrograms)
}

/** Throws [MissingPrograms] unless cargo has built the programs of the tests into [folder]. */
fun requirePrograms(folder: Path) {
    val missing = listOf("understudy", "bowline", "chaos", "examples/certificates").filterNot { Files.isExecutable(folder.resolve(it)) }
    if (missing.isNotEmpty()) throw MissingPrograms(missing, folder)
}

/** Programs that cargo has not built. */
class MissingPrograms(names: List<String>, folder: Path) :
    IllegalStateException(
        "${names.joinToString()} missing in $folder; run " +
            "cargo build -p bowline-ffi -p understudy -p bowline-cli -p bowline-tests --lib --bins --examples",
    )

/** The directory of the recorded streams. */
val fixtures: Path = Path.of(System.getProperty("bowline.fixtures")).toAbsolutePath().normalize()

/** The path of the simulated agent. */
val understudy: String by lazy { programs.resolve("understudy").toString() }

val engine: Engine by lazy { Bowline.engine(program = understudy) }

/**
 * How long a test waits for what must happen. Only what hangs takes so long: the limit is hundreds of times what a test needs on an
 * idle machine, so that none fails on a slow one.
 */
val PATIENCE: Duration = 3.minutes

/** Runs a test, whose waits are each bounded by [PATIENCE]. */
fun runTest(body: suspend CoroutineScope.() -> Unit): Unit = runBlocking { withTimeout(PATIENCE * 3) { body() } }

/** A dialogue with the simulated agent, without delays, in an empty directory. */
fun configuration(vararg args: String, folder: Path = temporaryDirectory(), options: AgentOptions? = null): DialogueConfiguration =
    DialogueConfiguration(
        args = listOf("--pace", "0") + args,
        cwd = folder.absolutePathString(),
        environment = EnvironmentChanges(set = mapOf("CLAUDE_CONFIG_DIR" to folder.resolve("agent").toString())),
        options = options,
    )

/** A dialogue in which the simulated agent plays a scenario. */
fun scenario(toml: String): DialogueConfiguration {
    val folder = temporaryDirectory()
    val file = Files.writeString(folder.resolve("scenario.toml"), toml)
    return configuration("--scenario", file.toString(), folder = folder)
}

/** The directory of all files of the tests, which is deleted when the JVM exits. */
private val testDirectory: Path by lazy {
    val directory = Files.createTempDirectory("bowline")
    Runtime.getRuntime().addShutdownHook(Thread { directory.toFile().deleteRecursively() })
    directory
}

private val directories = AtomicInteger()

/** Returns a new directory. Its path is short, as those of sockets must be. */
fun temporaryDirectory(): Path = Files.createDirectory(testDirectory.resolve("${directories.incrementAndGet()}"))

/** Runs [body] with a session and terminates it. */
suspend fun <T> session(configuration: DialogueConfiguration = configuration(), body: suspend (DialogueSession) -> T): T =
    engine.start(configuration).use { session ->
        try {
            body(session)
        } finally {
            session.terminate()
        }
    }

/** Waits until the transcript satisfies [predicate]. */
suspend fun DialogueSession.until(predicate: (Transcript) -> Boolean): Transcript =
    transcripts(coalesceFor = Duration.ZERO).first { predicate(it) }

/** Waits for a permission request and returns it. */
suspend fun DialogueSession.awaitPermissionRequest(): PermissionRecord {
    until { it.phase == Phase.AWAITING_PERMISSION }
    return permissions().first { it.state == RequestState.OPEN }
}

fun Transcript.results(): List<EntryKind.Result> = entries.mapNotNull { it.value as? EntryKind.Result }

/** The text of all blocks of the main thread. */
fun Transcript.text(): String = entries.flatMap { it.blocks }.joinToString("\n") { it.text }

/** Asserts that [body] throws an error of type [E] and returns it. */
inline fun <reified E : BowlineException> assertThrowsBowline(body: () -> Unit): E {
    try {
        body()
    } catch (error: BowlineException) {
        if (error is E) return error
        fail<Nothing>("$error, not ${E::class.simpleName}")
    }
    return fail("nothing was thrown")
}

/** Waits for a condition without an event to wait for, such as a counter of the library. */
suspend fun eventually(what: String, holds: () -> Boolean) {
    try {
        withTimeout(PATIENCE) { while (!holds()) delay(1.milliseconds) }
    } catch (_: kotlinx.coroutines.TimeoutCancellationException) {
        fail<Unit>("$what: ${Bowline.counters()}")
    }
}

/**
 * Reads [level] until it is below [limit], and returns it. Also returns once the level has not sunk for [PATIENCE]: JNA releases on one
 * thread what the collector has found, which on a busy machine takes as long as it takes.
 */
suspend fun sunk(limit: Long, level: () -> Long): Long {
    var lowest = Long.MAX_VALUE
    var lastSunk = TimeSource.Monotonic.markNow()
    while (true) {
        val now = level()
        if (now < limit || (now >= lowest && lastSunk.elapsedNow() > PATIENCE)) return now
        if (now < lowest) {
            lowest = now
            lastSunk = TimeSource.Monotonic.markNow()
        }
        delay(10.milliseconds)
    }
}

/** Something that may grow by less than [limit] in a round. One that [sinks] is waited for after it. */
class Level(private val name: String, private val limit: Long, private val sinks: Boolean = false, private val read: () -> Long) {
    private var before = 0L
    private var growth = 0L
    val isKept: Boolean get() = growth < limit

    fun begin() {
        before = read()
    }

    suspend fun end() {
        growth = if (sinks) sunk(limit) { read() - before } else read() - before
    }

    override fun toString(): String = "$name change $growth"
}

/**
 * Runs [round] until the [levels] are kept in one, and returns them; fails if they are not in any of a few rounds. A leak grows in each,
 * while code and arenas of the allocator that are new in one are there in the next.
 */
suspend fun assertKept(levels: List<Level>, round: suspend () -> Unit) {
    val rounds = List(ROUNDS) {
        levels.forEach { it.begin() }
        round()
        levels.forEach { it.end() }
        if (levels.all { it.isKept }) return println(levels)
        levels.toString()
    }
    fail<Unit>("growth in each round: $rounds")
}

private const val ROUNDS = 5

/** A number of this process's status, such as `VmRSS` in KiB. */
fun status(field: String): Long {
    val line = Files.readAllLines(Path.of("/proc/self/status")).first { it.startsWith("$field:") }
    return line.filter(Char::isDigit).toLong()
}

/** The used heap in KiB after a collection. */
fun usedHeap(): Long {
    System.gc()
    return Runtime.getRuntime().run { totalMemory() - freeMemory() } / 1024
}

/** The bytes of the live instances of each class. */
fun heapByClass(): Map<String, Long> {
    val diagnostics = ObjectName("com.sun.management:type=DiagnosticCommand")
    val arguments = arrayOf<Any>(emptyArray<String>())
    val histogram = ManagementFactory.getPlatformMBeanServer()
        .invoke(diagnostics, "gcClassHistogram", arguments, arrayOf(Array<String>::class.java.name)) as String
    // "   1:        1234        56789  [B (java.base@17)"
    val rows = histogram.lines().map { it.trim().split(Regex(" +")) }.filter { it.size >= 4 && it[0].endsWith(":") }
    return rows.associate { (_, _, bytes, name) -> name to bytes.toLong() }
}

fun sha256(text: String): String =
    MessageDigest.getInstance("SHA-256").digest(text.toByteArray()).joinToString("") { "%02x".format(it) }
