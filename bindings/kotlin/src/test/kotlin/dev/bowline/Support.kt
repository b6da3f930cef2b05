package dev.bowline

import java.nio.file.Files
import java.nio.file.Path
import java.security.MessageDigest
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

/** Where cargo has put the programs. */
val programs: Path = Path.of(System.getProperty("bowline.programs")).toAbsolutePath().normalize()

/** Recorded streams of the real agent. */
val fixtures: Path = Path.of(System.getProperty("bowline.fixtures")).toAbsolutePath().normalize()

/** The stand-in for the agent. */
val understudy: String = programs.resolve("understudy").toString()

val engine: Engine by lazy { Bowline.engine(program = understudy) }

/** Runs a test, for a minute at most. */
fun live(body: suspend CoroutineScope.() -> Unit): Unit = runBlocking { withTimeout(60.seconds) { body() } }

/** A dialogue without pauses, in an empty folder. */
fun configuration(vararg args: String, folder: Path = temporary(), options: AgentOptions? = null): DialogueConfiguration =
    DialogueConfiguration(
        args = listOf("--pace", "0") + args,
        cwd = folder.absolutePathString(),
        environment = EnvironmentChanges(set = mapOf("CLAUDE_CONFIG_DIR" to folder.resolve("agent").toString())),
        options = options,
    )

/** A dialogue that plays a scenario. */
fun scenario(toml: String): DialogueConfiguration {
    val folder = temporary()
    val file = Files.writeString(folder.resolve("scenario.toml"), toml)
    return configuration("--scenario", file.toString(), folder = folder)
}

fun temporary(): Path = Files.createTempDirectory("bowline").also { it.toFile().deleteOnExit() }

/** Runs `body` with a session, and ends it. */
suspend fun <T> session(configuration: DialogueConfiguration = configuration(), body: suspend (DialogueSession) -> T): T =
    engine.start(configuration).use { session ->
        try {
            body(session)
        } finally {
            session.terminate()
        }
    }

/** Waits until the transcript is as wanted. */
suspend fun DialogueSession.until(wanted: (Transcript) -> Boolean): Transcript =
    transcripts(linger = Duration.ZERO).first { wanted(it) }

/** The permission request that waits. */
suspend fun DialogueSession.asked(): PermissionRecord {
    until { it.phase == Phase.AWAITING_PERMISSION }
    return permissions().first { it.state == RequestState.OPEN }
}

fun Transcript.results(): List<EntryKind.Result> = entries.mapNotNull { it.value as? EntryKind.Result }

/** Everything that the model has said on the main thread. */
fun Transcript.said(): String = entries.flatMap { it.blocks }.joinToString("\n") { it.text }

/** The error that a call gives. */
inline fun <reified E : BowlineException> refused(body: () -> Unit): E {
    try {
        body()
    } catch (error: BowlineException) {
        if (error is E) return error
        fail<Nothing>("$error, not ${E::class.simpleName}")
    }
    return fail("nothing was refused")
}

/** Waits for what no event tells, such as a counter of the library. */
suspend fun eventually(what: String, within: Duration = 10.seconds, holds: () -> Boolean) {
    try {
        withTimeout(within) { while (!holds()) delay(1.milliseconds) }
    } catch (_: kotlinx.coroutines.TimeoutCancellationException) {
        fail<Unit>("$what: ${Bowline.counters()}")
    }
}

fun sha256(text: String): String =
    MessageDigest.getInstance("SHA-256").digest(text.toByteArray()).joinToString("") { "%02x".format(it) }
