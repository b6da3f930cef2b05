package dev.bowline

import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicInteger
import kotlinx.coroutines.DelicateCoroutinesApi
import kotlinx.coroutines.GlobalScope
import kotlinx.coroutines.flow.collect
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

class ExitTest {
    @Test
    fun `JVM exits with open sessions and ends the agent`() {
        val output = temporaryDirectory().resolve("output")
        val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
        val names = listOf("jna.library.path", "jna.nosys", "bowline.programs", "bowline.fixtures")
        val properties = names.map { "-D$it=${System.getProperty(it)}" }
        val host = ProcessBuilder(listOf(java) + properties + listOf("-cp", System.getProperty("java.class.path"), OpenHost::class.java.name, understudy))
            .redirectErrorStream(true).redirectOutput(output.toFile()).start()
        val hasExited = host.waitFor(60, TimeUnit.SECONDS)
        host.destroyForcibly()
        val text = Files.readString(output)
        assertTrue(hasExited, "still running: $text")
        assertEquals(0, host.exitValue(), text)
        assertTrue(text.startsWith("ANSWERED, "), text)
        val agent = ProcessHandle.of(text.trim().substringAfter(", ").toLong())
        agent.ifPresent { it.onExit().get(10, TimeUnit.SECONDS) }
    }
}
