package dev.bowline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

class JavaTest {
    private static final String AGENT = Path.of(System.getProperty("bowline.programs"), "understudy").toString();

    @Test
    void sessionIsStartedPromptedReadAndTerminated() throws Exception {
        Engine engine = Bowline.engine(AGENT);
        String cwd = Files.createTempDirectory("bowline").toString();
        try (DialogueSession session = BowlineJava.start(engine, cwd, List.of("--pace", "0")).get();
             ChangeStream changes = session.changeStream()) {
            assertEquals(ReceiptState.ANSWERED, BowlineJava.prompt(session, "hello").get());
            Transcript transcript = new Transcript();
            long cursor = 0;
            while (transcript.getPhase() != Phase.IDLE) {
                ChangeBatch batch = BowlineJava.next(changes, cursor).get();
                transcript.apply(batch);
                cursor = BowlineJava.cursor(batch);
            }
            assertTrue(transcript.toJson().contains("hello"));
            DialogueEnd end = BowlineJava.terminate(session).get();
            assertTrue(end.isExpected());
            Throwable late = assertThrows(ExecutionException.class, () -> BowlineJava.prompt(session, "x").get());
            assertInstanceOf(BowlineException.Ended.class, late.getCause());
        }
    }

    @Test
    void missingAgentIsAnException() {
        Engine engine = Bowline.engine("no-such-agent-anywhere");
        Throwable failed = assertThrows(ExecutionException.class, () -> BowlineJava.start(engine, "/").get());
        assertInstanceOf(BowlineException.Start.class, failed.getCause());
    }
}
