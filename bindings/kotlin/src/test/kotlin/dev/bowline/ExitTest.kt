package dev.bowline

import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicInteger
import kotlinx.coroutines.DelicateCoroutinesApi
import kotlinx.coroutines.GlobalScope
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** A host that returns from `main` with a session, pending reads and a log sink open. */
object OpenHost {
    @OptIn(DelicateCoroutinesApi::class)
    @JvmStatic
    fun main(arguments: Array<String>): Unit = runBlocking {
        val lines = AtomicInteger()
        Bowline.log(LogLevel.TRACE) { lines.incrementAndGet() }
        val session = Bowline.engine(program = arguments[0]).start(configuration())
        repeat(4) { GlobalScope.launch { session.changes().collect { } } }
        GlobalScope.launch { session.waitForEnd() }
        println("${session.send("hello").waitUntilSettled()}, ${session.pid()}")
        eventually("reads are pending and lines arrive") { Bowline.counters().pendingReads == 4uL && lines.get() > 0 }
    }
}

/** A host that starts a program which ignores hangups, and waits to be killed. */
object WaitingHost {
    @JvmStatic
    fun main(arguments: Array<String>): Unit = runBlocking {
        val program = ShellProgram.Command("/bin/sh", listOf("-c", "trap '' HUP; echo ready; while :; do /bin/sleep 60; done"))
        val shell = Bowline.engine().startShell(ShellConfiguration(cwd = "/", program = program))
        shell.events().first { (it as? SessionEvent.Output)?.line == "ready" }
        println(shell.pid())
        System.`in`.read()
    }
}

/** A host that prints how the library could not be loaded, each time. */
object UnloadedHost {
    @JvmStatic
    fun main(arguments: Array<String>) = repeat(2) {
        try {
            Bowline.engine()
            println("loaded")
        } catch (error: BowlineException.Internal) {
            println("${error.reason}")
        }
    }
}

class ExitTest {
    /** A JVM that runs the host [type], with [environment] added to this one's. */
    private fun host(
        type: Class<*>,
        environment: Map<String, String> = emptyMap(),
        library: Path? = null,
    ): ProcessBuilder {
        val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
        val names = listOf("jna.library.path", "jna.nosys", "bowline.programs", "bowline.fixtures")
        val properties = names.map { "-D$it=${library?.takeIf { _ -> it == "jna.library.path" } ?: System.getProperty(it)}" }
        val command = listOf(java) + properties + listOf("-cp", System.getProperty("java.class.path"), type.name, understudy)
        return ProcessBuilder(command).also {
            it.environment().remove("BOWLINE_GUARD")
            it.environment() += environment
        }
    }

    @Test
    fun `killed host leaves nothing where bowline is installed`() {
        val path = mapOf("PATH" to "$programs:${System.getenv("PATH")}")
        val errors = temporaryDirectory().resolve("errors")
        val host = host(WaitingHost::class.java, path).redirectError(errors.toFile()).start()
        val program = host.inputReader().readLine()
        host.destroyForcibly().waitFor()
        ProcessHandle.of(program.toLong()).ifPresent { it.onExit().get(PATIENCE.inWholeSeconds, TimeUnit.SECONDS) }
        assertEquals("", Files.readString(errors))
    }

    @Test
    fun `host without a guard is warned once unless it accepts that`() {
        val path = mapOf("PATH" to temporaryDirectory().toString())
        for ((environment, warnings) in listOf(path to 1, path + ("BOWLINE_GUARD" to "") to 0)) {
            val errors = temporaryDirectory().resolve("errors")
            val host = host(WaitingHost::class.java, environment).redirectError(errors.toFile()).start()
            val program = host.inputReader().readLine()
            assertEquals(warnings, Files.readAllLines(errors).count { "no guard found" in it }, Files.readString(errors))
            host.destroyForcibly().waitFor()
            ProcessHandle.of(program.toLong()).ifPresent { it.destroyForcibly() }
        }
    }

    @Test
    fun `JVM exits with open sessions and ends the agent`() {
        val output = temporaryDirectory().resolve("output")
        val host = host(OpenHost::class.java).redirectErrorStream(true).redirectOutput(output.toFile()).start()
        val hasExited = host.waitFor(PATIENCE.inWholeSeconds, TimeUnit.SECONDS)
        host.destroyForcibly()
        val text = Files.readString(output)
        assertTrue(hasExited, "still running: $text")
        assertEquals(0, host.exitValue(), text)
        val answered = text.lines().firstOrNull { it.startsWith("ANSWERED, ") }
        assertTrue(answered != null, text)
        val agent = ProcessHandle.of(answered!!.substringAfter(", ").toLong())
        agent.ifPresent { it.onExit().get(PATIENCE.inWholeSeconds, TimeUnit.SECONDS) }
    }

    @Test
    fun `missing library is a typed error with the remedy`() {
        val lines = unloaded(temporaryDirectory())
        assertEquals(2, lines.size, "$lines")
        assertEquals(lines[0], lines[1])
        assertTrue(lines[0].startsWith("load the native library: Unable to load library 'bowline_ffi'"), lines[0])
        assertTrue("-Djna.library.path" in lines[0], lines[0])
    }

    @Test
    fun `library of another revision is a typed error with the remedy`() {
        // An older library lacks functions that these sources need.
        val folder = temporaryDirectory()
        val source = Files.writeString(folder.resolve("old.c"), "unsigned uniffi_bowline_ffi_fn_func_api_revision(void) { return 1; }")
        val library = folder.resolve(System.mapLibraryName("bowline_ffi")).toString()
        assertEquals(0, ProcessBuilder("cc", "-shared", "-fPIC", "-o", library, source.toString()).inheritIO().start().waitFor())
        val lines = unloaded(folder)
        assertTrue(lines[0].startsWith("load the native library: ") && "this version's library" in lines[0], "$lines")
        val error = assertThrowsBowline<BowlineException.Internal> { Bowline.checkRevision(apiRevision() + 1u) }
        assertTrue("API revision ${apiRevision() + 1u}, not ${apiRevision()}" in error.reason, error.reason)
    }

    private fun unloaded(library: Path): List<String> =
        host(UnloadedHost::class.java, library = library).start().inputReader().readLines()
}
