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
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.Assertions.fail

/** The directory of the programs that cargo has built. */
val programs: Path = Path.of(System.getProperty("bowline.programs")).toAbsolutePath().normalize()

/** The directory of the recorded streams. */
val fixtures: Path = Path.of(System.getProperty("bowline.fixtures")).toAbsolutePath().normalize()

/** The path of the simulated agent. */
val understudy: String = programs.resolve("understudy").toString()

val engine: Engine by lazy { Bowline.engine(program = understudy) }

/** Runs a test with a time limit of a minute. */
fun runTest(body: suspend CoroutineScope.() -> Unit): Unit = runBlocking { withTimeout(60.seconds) { body() } }

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
        withTimeout(30.seconds) { while (!holds()) delay(1.milliseconds) }
    } catch (_: kotlinx.coroutines.TimeoutCancellationException) {
        fail<Unit>("$what: ${Bowline.counters()}")
    }
}

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
